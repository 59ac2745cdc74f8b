// Selectors and labels that match often: few keys and values, including those at the limits of Kubernetes. The property tests here
// and the end-to-end tests share them; there Kubernetes itself is the reference.
import fc from 'fast-check';

const long = (count: number) => 'x'.repeat(count);

const KEYS = ['a', 'b', 'app', 'example.com/team', 'constructor', '7', `p.q/${long(63)}`];
const BAD_KEYS = ['', 'a b', '-a', '/a', 'A.b/c', 'a/b/c', long(64), 'ä', `${long(254)}/a`, 'a\n'];
const VALUES = ['', 'x', 'y', '1', '8', '16', '008', 'A_b-c.d', '9223372036854775807', long(63)];
const BAD_VALUES = ['-1', '+5', 'a b', 'x-', long(64), 'ü', '9223372036854775808-'];

const mostly = (good: readonly string[], bad: readonly string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );

const keys = mostly(KEYS, BAD_KEYS);
const values = mostly([...VALUES, '9223372036854775808'], BAD_VALUES);

export const labelSets: fc.Arbitrary<Record<string, string>> = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES, '9223372036854775808', '-3', '+3')),
    {
      selector: ([key]) => key,
      maxLength: KEYS.length,
    },
  )
  .map((entries) => Object.fromEntries(entries));

const ARITY: Readonly<Record<string, readonly [number, number]>> = {
  In: [1, 3],
  NotIn: [1, 3],
  Exists: [0, 0],
  DoesNotExist: [0, 0],
  Gt: [1, 1],
  Lt: [1, 1],
};

function requirements(operators: readonly string[]) {
  return mostly(operators, ['in', 'Equals', '', 'Gt']).chain((operator) => {
    const [min, max] = ARITY[operator] ?? [0, 2];
    const right = fc.array(values, { minLength: min, maxLength: max });
    const listed = fc.oneof(
      { weight: 12, arbitrary: right },
      { weight: 1, arbitrary: fc.array(values, { maxLength: 3 }) },
    );
    return fc.record({ key: keys, operator: fc.constant(operator), values: listed });
  });
}

export interface SelectorCase {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { key: string; operator: string; values: readonly string[] }[];
}

/** Label selectors as in JSON, null included. */
export const labelSelectors: fc.Arbitrary<SelectorCase | null> = fc.option(
  fc.record(
    {
      matchLabels: fc
        .uniqueArray(fc.tuple(keys, values), { selector: ([key]) => key, maxLength: 2 })
        .map((entries) => Object.fromEntries(entries)),
      matchExpressions: fc.array(requirements(['In', 'NotIn', 'Exists', 'DoesNotExist']), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  ),
  { freq: 30 },
);

/** Never empty: for an empty list the two implementations differ on purpose. */
export const nodeSelectors = fc.array(
  requirements(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Gt', 'Lt', 'Lt']),
  { minLength: 1, maxLength: 3 },
);

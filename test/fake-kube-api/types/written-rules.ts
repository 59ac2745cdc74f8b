// The rules of a schema (x-kubernetes-validations, CEL) that Isthmus' own definition has, each written out by hand: the embedded API
// knows no CEL. A rule that is not here, such as those of CAPO, is not enforced. The behaviour suite holds them against a real server.
import type { FieldProblem } from '../api-error.ts';
import { equalJson, isMap, type JsonMap } from '../kube-object.ts';
import type { Schema } from './schema.ts';

/** `oldSelf` is null where there is nothing before; a rule that names it is then not asked. */
type Rule = (self: JsonMap, oldSelf: JsonMap) => boolean;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['self.selector == oldSelf.selector', (self, old) => equalJson(self.selector, old.selector)],
  ['self.clusterName == oldSelf.clusterName', (self, old) => self.clusterName === old.clusterName],
  ['self.port != 6443', ({ port }) => port !== 6443],
]);

/** Only of objects that are reached by the names of fields: no rule of ours lies in a list or a map. */
export function ruleProblems(schema: Schema, value: unknown, old: unknown, path = ''): FieldProblem[] {
  if (!isMap(value)) return [];
  const problems: FieldProblem[] = [];
  for (const { rule, message = `failed rule: ${rule}` } of schema['x-kubernetes-validations'] ?? []) {
    const needsOld = /\boldSelf\b/.test(rule);
    if (needsOld && !isMap(old)) continue;
    if (RULES.get(rule)?.(value, isMap(old) ? old : {}) === false)
      problems.push({ path, reason: 'FieldValueInvalid', message: `Invalid value: ${message}` });
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const below = path === '' ? key : `${path}.${key}`;
    problems.push(...ruleProblems(property, value[key], isMap(old) ? old[key] : undefined, below));
  }
  return problems;
}

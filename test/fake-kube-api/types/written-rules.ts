// The CEL rules (x-kubernetes-validations) of Isthmus' own definition, written by hand: the in-memory API has no CEL engine. Other
// rules, such as those of CAPO, are not enforced. The behaviour suite compares these rules with a real server.
import type { FieldProblem } from '../api-error.ts';
import { equalJson, isMap, type JsonMap } from '../stored-object.ts';
import type { Schema } from './schema.ts';

/** A rule that uses `oldSelf` is not evaluated without an old object. */
type Rule = (self: JsonMap, oldSelf: JsonMap) => boolean;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['self.selector == oldSelf.selector', (self, old) => equalJson(self.selector, old.selector)],
  ['self.clusterName == oldSelf.clusterName', (self, old) => self.clusterName === old.clusterName],
  ['self.port != 6443', ({ port }) => port !== 6443],
]);

/** Checks only rules that are reachable through named fields: our definition has no rules inside lists or maps. */
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

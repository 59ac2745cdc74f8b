// Compares our selectors with those of Kubernetes (apimachinery, component-helpers): validity and matches, in about ten thousand
// generated cases. A difference is a bug of ours.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Labels } from '../../src/kube/labels/label-requirement.ts';
import { matches, parseLabelSelector } from '../../src/kube/labels/label-selector.ts';
import { parseNodeSelector, unmetRequirement } from '../../src/kube/labels/node-selector.ts';
import { labelSelectors, labelSets, nodeSelectors } from '../kube/selector-cases.ts';
import { componentCommand } from './component.ts';

const CASES = 6000;
const LABELS_PER_CASE = 4;

interface Verdict {
  readonly valid: boolean;
  readonly matches: readonly boolean[];
}

interface Case {
  readonly kind: 'label' | 'node';
  readonly labelSelector?: unknown;
  readonly nodeSelector?: unknown;
  readonly labels: readonly Labels[];
}

const labels = fc.array(labelSets, { minLength: LABELS_PER_CASE, maxLength: LABELS_PER_CASE });
const labelCases = fc.record({ kind: fc.constant('label' as const), labelSelector: labelSelectors, labels });
const nodeCases = fc.record({ kind: fc.constant('node' as const), nodeSelector: nodeSelectors, labels });

function judged(cases: readonly Case[]): Verdict[] {
  const [command, args] = componentCommand('selector-judge', []);
  const input = cases.map((each) => JSON.stringify(each)).join('\n');
  const { status, stdout, stderr } = spawnSync(command, args, {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`the judge has left: ${stderr}`);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Verdict);
}

function ours({ kind, labelSelector, nodeSelector, labels: sets }: Case): Verdict {
  const none = { valid: false, matches: [] };
  if (kind === 'node') {
    const parsed = parseNodeSelector(nodeSelector);
    if (parsed.kind !== 'selector') return none;
    return { valid: true, matches: sets.map((each) => unmetRequirement(parsed.selector, each) === null) };
  }
  const parsed = parseLabelSelector(labelSelector);
  if (parsed.kind === 'invalid') return none;
  return { valid: true, matches: sets.map((each) => matches(parsed.selector, each)) };
}

// With binaries from KUBEBUILDER_ASSETS the judge program is not built.
const [judge] = componentCommand('selector-judge', []);
describe.skipIf(!existsSync(judge))('our selectors and those of Kubernetes', () => {
  test.each([
    ['label selectors', labelCases],
    ['node selectors', nodeCases],
  ] as const)('agree on %s: their validity and their matches', (what, arbitrary) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const cases: readonly Case[] = fc.sample(arbitrary as fc.Arbitrary<Case>, { numRuns: CASES, seed });
    const verdicts = judged(cases);
    expect(verdicts).toHaveLength(CASES);
    const differing = cases.flatMap((each, index) => {
      const [theirs, own] = [verdicts[index], ours(each)];
      return JSON.stringify(theirs) === JSON.stringify(own) ? [] : [{ each, theirs, own }];
    });
    expect(differing.slice(0, 5), `${differing.length} differ, with seed ${seed}`).toEqual([]);
    const valid = verdicts.filter((verdict) => verdict.valid).length;
    const matched = verdicts.flatMap((verdict) => verdict.matches).filter(Boolean).length;
    // Guards against useless cases: not all may be invalid, and some must match.
    expect(valid).toBeGreaterThan(CASES / 3);
    expect(CASES - valid).toBeGreaterThan(CASES / 50);
    expect(matched).toBeGreaterThan(CASES / 10);
    console.log(`${what}: ${CASES} cases, ${valid} valid, ${matched} matches; seed ${seed}`);
  });
});

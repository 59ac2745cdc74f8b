import { expect, test } from 'vitest';
import { environmentName, FLAG_NAMES, flagReference } from './config/flags.ts';
import { HELP, MAIN_HELP } from './help.ts';

const lines = HELP.run.trimEnd().split('\n');

test.each(flagReference())(
  'the help has one line for $name, with what it takes, what it does and its default',
  ({ name, placeholder, help, fallback }) => {
    const own = lines.filter((line) => line.startsWith(`  ${name} `));
    expect(own).toHaveLength(1);
    expect(own[0]).toContain(placeholder);
    expect(own[0]).toContain(help);
    if (placeholder !== '' && fallback !== '') expect(own[0]?.endsWith(` (${fallback})`)).toBe(true);
  },
);

test('the help fits on a screen of 80 columns', () => {
  expect(lines.length).toBeLessThanOrEqual(63);
  for (const text of [MAIN_HELP, ...Object.values(HELP)]) {
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(text.endsWith('\n')).toBe(true);
  }
});

test('usage and explanation keep to their columns', () => {
  for (const line of lines.filter((each) => each.startsWith('  --'))) expect(line[35], line).toBe(' ');
});

test('the variable in the help is one that is read', () => {
  const [, variable] = /\((ISTHMUS_\w+)=/.exec(HELP.run) ?? [];
  expect(FLAG_NAMES.map(environmentName)).toContain(variable);
});

test('the main help names every command', () => {
  for (const command of ['run', 'status', 'top', 'explain', 'doctor', 'demo', 'version'])
    expect(MAIN_HELP).toMatch(new RegExp(`^  ${command} `, 'm'));
});

import { expect, test } from 'vitest';
import { ok, problem, skipped, warning } from './check.ts';
import { isWell, reportJson, resultText, summaryText } from './report.ts';

const WELL = { name: 'node', finding: ok('Node 24') };
const ODD = { name: 'clock', finding: warning('8 s behind', 'Set it.') };
const WRONG = { name: 'rights', finding: problem('may not patch services in a', 'Allow it.') };
const LEFT = { name: 'crd', finding: skipped('not checked') };

test('a result has one line for the finding and one for the advice, in columns', () => {
  expect([WELL, ODD, WRONG, LEFT].map((each) => resultText(each, 6)).join('')).toBe(
    [
      'ok       node    Node 24',
      'warning  clock   8 s behind',
      '                 Set it.',
      'problem  rights  may not patch services in a',
      '                 Allow it.',
      '-        crd     not checked',
      '',
    ].join('\n'),
  );
});

test('text from a server or a file cannot forge a line', () => {
  const text = resultText({ name: 'api', finding: ok('a\nok       rights\r\u2028b') }, 3);
  expect(text.split('\n')).toHaveLength(2);
});

test.each([
  ['one passed check', [WELL], '\nno problem\n'],
  ['one warning', [WELL, ODD], '\nno problem, 1 warning\n'],
  [
    'two problems, a warning and a skipped check',
    [WRONG, WRONG, ODD, LEFT],
    '\n2 problems, 1 warning, 1 not checked\n',
  ],
])('the last line counts %s', (_title, results, text) => {
  expect(summaryText(results)).toBe(text);
});

test('only a problem makes the report fail', () => {
  expect(isWell([WELL, ODD, LEFT])).toBe(true);
  expect(isWell([WELL, WRONG])).toBe(false);
});

test('the JSON report has the form that scripts read', () => {
  expect(JSON.parse(reportJson('1.2.3', [WELL, WRONG]))).toEqual({
    version: '1.2.3',
    ok: false,
    checks: [
      { check: 'node', result: 'ok', found: 'Node 24', fix: null },
      { check: 'rights', result: 'problem', found: 'may not patch services in a', fix: 'Allow it.' },
    ],
  });
});

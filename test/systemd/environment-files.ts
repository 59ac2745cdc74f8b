// Settings files with the settings that systemd reads from them. test/systemd/booted/doctor.systemd.ts compares them with a real systemd.

export interface EnvironmentFile {
  readonly title: string;
  readonly text: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly ignored?: readonly string[];
}

export const ENVIRONMENT_FILES: readonly EnvironmentFile[] = [
  { title: 'plain lines', text: 'A=1\nB=two words\n', settings: { A: '1', B: 'two words' } },
  { title: 'a last line without a line break', text: 'A=1', settings: { A: '1' } },
  { title: 'comments and empty lines', text: '# A=1\n\n ; B=2\nC=3\n', settings: { C: '3' } },
  { title: 'a comment that a backslash continues', text: '# A=1 \\\nB=2\nC=3\n', settings: { C: '3' } },
  { title: 'a hash within a value', text: 'A=1 # one\n', settings: { A: '1 # one' } },
  { title: 'an empty value', text: 'A=\nB=2\n', settings: { A: '', B: '2' } },
  { title: 'spaces around name and value', text: '  A = 1  \n', settings: { A: '1' } },
  { title: 'double quotes', text: 'A="a \\" b  "\nB="x\\y\\\\"\n', settings: { A: 'a " b  ', B: 'x\\y\\' } },
  { title: 'single quotes', text: "A='a \\ \" b'\n", settings: { A: 'a \\ " b' } },
  { title: 'quotes one after another', text: 'A="a" \'b\'\n', settings: { A: 'ab' } },
  { title: 'quotes within a value', text: 'A=x"y"\n', settings: { A: 'x"y"' } },
  { title: 'JSON in single quotes', text: `A='{"a": [1, 2]}'\n`, settings: { A: '{"a": [1, 2]}' } },
  { title: 'a quoted value of two lines', text: 'A="a\nb"\nC=3\n', settings: { A: 'a\nb', C: '3' } },
  { title: 'a value that a backslash continues', text: 'A=a\\\nb\nC=3\n', settings: { A: 'ab', C: '3' } },
  { title: 'a backslash before a letter', text: 'A=a\\b\n', settings: { A: 'ab' } },
  { title: 'the last of two values', text: 'A=1\nA=2\n', settings: { A: '2' } },
  { title: 'a line without =', text: 'A\nB=2\n', settings: { B: '2' }, ignored: ['A'] },
  { title: 'a name with a dash', text: 'A-B=1\nC=3\n', settings: { C: '3' }, ignored: ['A-B=1'] },
  { title: 'export', text: 'export A=1\nC=3\n', settings: { C: '3' }, ignored: ['export A=1'] },
  { title: 'line ends of Windows', text: 'A=1\r\nB=2\r\n', settings: { A: '1', B: '2' } },
];

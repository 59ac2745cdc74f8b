// Checks the command blocks of every page without running them: each has a class, each command of Isthmus parses, each script and each
// file of the repository exists. `npm run check` runs this file; test/docs runs the blocks of class `run`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { adminArguments } from '../../src/cli/admin-arguments.ts';
import { readConfig } from '../../src/cli/config/config.ts';
import { reloadArguments } from '../../src/cli/reload-command.ts';
import { topArguments } from '../../src/cli/top/top-command.ts';
import { type Command, commandsIn } from '../docs/command-lines.ts';
import { blocksIn, blocksOf, CLASSES, type CommandBlock, pages, root } from '../docs/page-blocks.ts';

const blocks = pages().flatMap(blocksOf);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
const folders = readdirSync(root, { withFileTypes: true }).flatMap((each) =>
  each.isDirectory() ? [each.name] : [],
);

/** A machine on which every file and directory exists; the only file that a flag reads is a node selector. */
const MACHINE = {
  directoryProblem: () => null,
  isFile: () => true,
  readText: () => ({ text: '[{"key":"network-node","operator":"Exists"}]' }),
};

type Args = readonly string[];
const isRead = ({ kind }: { readonly kind: string }): string | null =>
  kind === 'read' ? null : 'the arguments are not valid';
const runProblem = (args: Args): string | null => {
  const read = readConfig(
    args.filter((arg) => arg !== '--json'),
    {},
    MACHINE,
  );
  return 'problems' in read
    ? read.problems.map(({ where, wanted }) => `${where}: ${wanted}`).join('; ')
    : null;
};
const COMMANDS: Readonly<Record<string, (args: Args) => string | null>> = {
  run: runProblem,
  doctor: runProblem,
  status: (args) => isRead(adminArguments(args, {})),
  explain: (args) => isRead(adminArguments(args, {}, { words: 1 })),
  top: (args) => isRead(topArguments(args, {})),
  reload: (args) => {
    const read = reloadArguments(args, {});
    return 'problem' in read ? read.problem : null;
  },
  demo: (args) => (args.length === 0 ? null : 'demo takes no arguments'),
  version: (args) => (args.length === 0 ? null : 'version takes no arguments'),
};

function isthmusProblem([command = '', ...args]: Args): string | null {
  if (!Object.hasOwn(COMMANDS, command)) return `isthmus has no command ${command}`;
  return args.includes('--help') ? null : COMMANDS[command]!(args);
}

function npmProblem([name = '', ...args]: Args): string | null {
  const afterDashes = args.includes('--') ? args.slice(args.indexOf('--') + 1) : [];
  if (name === 'start') return runProblem(afterDashes);
  const script = name === 'run' ? (args[0] ?? '') : name;
  return ['ci', 'version'].includes(script) || Object.hasOwn(scripts, script)
    ? null
    : `npm has no script ${script}`;
}

/** The arguments of `isthmus`, wherever it stands in the command: `kubectl … exec … -- isthmus status`. */
function isthmusArguments(words: readonly string[]): Args | null {
  if (words[0] === 'isthmus') return words.slice(1);
  if (words[0] === 'node' && words[1] === 'dist/main.js') return words.slice(2);
  const dashes = words.indexOf('--');
  return words[0] === 'kubectl' && words[dashes + 1] === 'isthmus' ? words.slice(dashes + 2) : null;
}

function commandProblem({ words }: Command): string | null {
  const args = isthmusArguments(words);
  if (args !== null) return isthmusProblem(args);
  return words[0] === 'npm' ? npmProblem(words.slice(1)) : null;
}

const isPlaceholder = (word: string): boolean => /[<$…]/.test(word);
/** A word that begins with a folder of this repository, or stands after -f. Files that the build makes are not in the repository. */
const filesNamed = ({ words }: Command): string[] =>
  words.filter((word, index) => {
    const isInRepository = word.includes('/') && folders.includes(word.split('/')[0]!);
    return isInRepository || (words[index - 1] === '-f' && ['kubectl', 'helm', 'docker'].includes(words[0]!));
  });

/** `page`: the blocks of one page, because a block may use a file that a block before it wrote. */
function problemsOf(page: readonly CommandBlock[]): string[] {
  const written = new Set(['-']);
  return page.flatMap(({ place, info, text }) => {
    const found: string[] = [];
    if (!(CLASSES as readonly string[]).includes(info))
      found.push(`the fence is "sh ${info}"; write sh and one of: ${CLASSES.join(', ')}`);
    for (const command of commandsIn(text)) {
      const problem = commandProblem(command);
      if (problem !== null) found.push(`${command.words.join(' ')}: ${problem}`);
      for (const file of filesNamed(command))
        if (
          !isPlaceholder(file) &&
          !/^(dist|build)/.test(file) &&
          !written.has(file) &&
          !existsSync(join(root, file))
        )
          found.push(`${file} does not exist`);
      for (const file of command.writes) written.add(file);
    }
    return found.map((problem) => `${place}: ${problem}`);
  });
}

test('every command block has a class, and its commands and files exist', () => {
  const byPage = Map.groupBy(blocks, ({ place }) => place.split(':')[0]);
  expect([...byPage.values()].flatMap(problemsOf)).toEqual([]);
});

test('the check finds blocks of every class, and commands of Isthmus in them', () => {
  expect(new Set(blocks.map(({ info }) => info))).toEqual(new Set(CLASSES));
  const commands = blocks.flatMap(({ text }) => commandsIn(text));
  expect(commands.filter(({ words }) => isthmusArguments(words) !== null).length).toBeGreaterThan(15);
});

describe('the check rejects', () => {
  test.each([
    ['a block without a class', '', 'ls', 'the fence is "sh "'],
    ['a class that does not exist', 'runs', 'ls', 'the fence is "sh runs"'],
    ['a command that Isthmus does not have', 'run', 'isthmus stat', 'isthmus has no command stat'],
    [
      'a flag that Isthmus does not have',
      'run',
      'isthmus run --helth tls',
      '--helth: this flag does not exist',
    ],
    ['a value that a flag does not take', 'run', 'FOO=1 isthmus run --health udp', '--health: '],
    ['a flag behind a pipe', 'run', 'isthmus status --jsn | jq .', 'the arguments are not valid'],
    [
      'a flag behind kubectl exec',
      'cluster',
      'kubectl exec ds/x -- isthmus top --on',
      'the arguments are not valid',
    ],
    [
      'a flag on a continued line',
      'run',
      'npm start -- \\\n  --lisen 6443',
      '--lisen: this flag does not exist',
    ],
    ['a script that does not exist', 'host', 'npm run chek && ls', 'npm has no script chek'],
    [
      'a file that does not exist',
      'cluster',
      'kubectl apply -f deploy/no.yaml',
      'deploy/no.yaml does not exist',
    ],
    ['a file that no block wrote', 'cluster', 'kubectl apply -f old.yaml', 'old.yaml does not exist'],
  ])('%s', (_title, info, text, problem) => {
    const [found, ...others] = problemsOf(blocksIn('page.md', `\`\`\`sh ${info}\n${text}\n\`\`\`\n`));
    expect([found, others]).toEqual([expect.stringContaining(problem), []]);
  });
});

describe('the check accepts', () => {
  test.each([
    ['a comment and a quoted separator', `echo 'isthmus stat; isthmus x' # isthmus stat`],
    ['a file that a command before it wrote', 'kubectl get x -o yaml > old.yaml\nkubectl apply -f old.yaml'],
    ['a here-document', 'cat > x <<END\nisthmus stat\nEND\nls'],
    ['a file that only the reader has', 'helm upgrade isthmus deploy/helm/isthmus -f <your values>'],
  ])('%s', (_title, text) => {
    expect(problemsOf(blocksIn('page.md', `\`\`\`sh run\n${text}\n\`\`\`\n`))).toEqual([]);
  });
});

// The simple commands of a shell block, for checks that do not run it. It knows the part of the shell's grammar that the pages use:
// quotes, comments, continued lines, lists, pipes, redirections, assignments and here-documents.

export interface Command {
  /** The words, without assignments and redirections. */
  readonly words: readonly string[];
  /** The files that its redirections write. */
  readonly writes: readonly string[];
}

const HERE_DOCUMENT = /<<-?'?(\w+)'?[^\n]*\n(?:[\s\S]*?\n)?\1(?=\n|$)/g;
const TOKEN =
  /#[^\n]*|\\\n|\n|&&|\|\||[;|&()](?!>)|<\w[\w .-]*>|\d?(?:>>?|<)&?|(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\([^)]*\)|[^\s;|&()<>'"\\]|<\w[\w .-]*>)+/g;
const SEPARATOR = /^(\n|&&|\|\||[;|&()])$/;
const REDIRECTION = /^\d?(>>?|<)&?$/;
const ASSIGNMENT = /^\w+=/;
const KEYWORDS = ['do', 'then', 'else', 'if', 'while', 'until', '!', '{', 'sudo', 'exec'];

const unquoted = (word: string): string =>
  word.replace(
    /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"/g,
    (_all, escaped, single, double) => escaped ?? single ?? double,
  );

export function commandsIn(block: string): Command[] {
  const commands: Command[] = [];
  let words: string[] = [];
  let writes: string[] = [];
  const finish = () => {
    while (words.length > 0 && (KEYWORDS.includes(words[0]!) || ASSIGNMENT.test(words[0]!))) words.shift();
    if (words.length > 0) commands.push({ words, writes });
    [words, writes] = [[], []];
  };
  const tokens = block.replace(HERE_DOCUMENT, '').match(TOKEN) ?? [];
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i]!;
    if (token.startsWith('#') || token === '\\\n') continue;
    if (SEPARATOR.test(token)) finish();
    else if (REDIRECTION.test(token)) {
      i += 1; // its target
      if (token.includes('>')) writes.push(unquoted(tokens[i] ?? ''));
    } else words.push(unquoted(token));
  }
  finish();
  return commands;
}

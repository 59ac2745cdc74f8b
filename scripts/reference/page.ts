// What all generated pages share: their head and their tables.

export interface ReferencePage {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface PageContent {
  /** The name of the page in docs/reference, without `.md`. */
  readonly name: string;
  readonly title: string;
  /** The files that the page is made from, relative to the root of the repository. */
  readonly sources: readonly string[];
  /** Paragraphs, headings and tables. */
  readonly blocks: readonly string[];
}

export function page({ name, title, sources, blocks }: PageContent): ReferencePage {
  const links = sources.map((source) => `[${source}](../../${source})`).join(', ');
  const origin = `\`npm run docs\` writes this page from ${links}. Do not edit it by hand.`;
  return { path: `docs/reference/${name}.md`, text: `${[`# ${title}`, origin, ...blocks].join('\n\n')}\n` };
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** A bar would end the cell, even between backticks. `<name>` outside of backticks would be an HTML tag. */
function cell(text: string): string {
  const parts = text.split(/(`[^`]*`)/);
  return parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('')
    .replaceAll('|', '\\|');
}

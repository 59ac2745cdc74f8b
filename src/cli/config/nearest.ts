// Finds the choices that a misspelt word probably meant. Pure.

/** The choice within two edits (a third of the word at most), or null. */
export function nearest(word: string, choices: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.min(3, Math.floor(word.length / 3) + 1);
  for (const choice of choices) {
    const distance = editDistance(word, choice);
    if (distance < bestDistance) {
      best = choice;
      bestDistance = distance;
    }
  }
  return best;
}

/** Longer input is cut: no real name is longer, and the cost grows with each letter. */
const MAX_LETTERS = 64;

/** The choices that are near enough, contain the word or are contained in it: nearest first, at most `most`. */
export function nearestFew(text: string, choices: readonly string[], most: number): string[] {
  const word = text.slice(0, MAX_LETTERS);
  const farthest = Math.min(3, Math.floor(word.length / 2));
  // Almost every choice contains a word of one or two letters.
  const holds = (choice: string) => word.length > 2 && (choice.includes(word) || word.includes(choice));
  return choices
    .map((choice) => ({ choice, distance: editDistance(word, choice) }))
    .filter(({ choice, distance }) => distance <= farthest || holds(choice))
    .sort((a, b) => a.distance - b.distance || (a.choice < b.choice ? -1 : 1))
    .slice(0, most)
    .map(({ choice }) => choice);
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

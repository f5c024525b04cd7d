/** Returns a section whose text is in a fence that is longer than any in the text, so that it cannot close it. */
export function fenced(title: string, text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length), 2) + 1);
  return `## ${title}\n${fence}text\n${text}\n${fence}`;
}

import type { Scale } from './marks.ts';
import { EVALUATION } from './replyJson.ts';

/** What each mark is about, by its name; empty if the name says it. */
export type MarkTexts = Readonly<Record<string, string>>;

/** Returns how a judge has to reply: its reasons, then its marks. */
export function marksForm(parts: MarkTexts, [lowest, highest]: Scale): string {
  const entries = Object.entries(parts);
  const scores = Object.fromEntries(entries.map(([name]) => [name, `<${lowest}-${highest}>`]));
  const form = JSON.stringify({ strengths: ['…'], weaknesses: ['…'], scores }, null, 1).replaceAll(
    /"(<[\d-]+>)"/g,
    '$1',
  );
  return `# The marks
Give each of these a whole number from ${lowest} (worst) to ${highest} (best):
${entries.map(([name, about]) => (about === '' ? `- ${name}` : `- ${name}: ${about}`)).join('\n')}

Reason about each mark first. Then end your reply with the evaluation, in exactly this form:
<${EVALUATION}>
\`\`\`json
${form}
\`\`\`
</${EVALUATION}>`;
}

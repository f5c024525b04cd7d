/** Writes calls and results as world models read them. */
import type { Json } from '../../common/json.ts';

/** Returns the text of a call. */
export function actionOf(name: string, args: Json): string {
  return JSON.stringify({ name, arguments: args });
}

/** Returns the text of a result. */
export function observationText(response: Json): string {
  return typeof response === 'string' ? response : JSON.stringify(response);
}

/** Returns the text of the action of a turn. */
export function actionText(action: string): string {
  return `**Action:**\n\`\`\`json\n${action}\n\`\`\``;
}

/** Begins each recorded call among demonstrations. */
export const EXAMPLE = '## Example ';

/** Characters per token, about: enough to estimate how much of a context a text takes. */
const CHARS_PER_TOKEN = 3.5;

/** Returns about how many tokens a text has. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Formats a model call as a command for a POSIX shell, which reads the API key from the environment. */
import type { JsonObject } from '../../common/json.ts';
import { withoutEnd } from '../../common/text.ts';

/** `endpoint`: the recorded endpoint. If it is not a web address, the command reads the URL from the environment. */
export function curlText(endpoint: string | undefined, body: JsonObject): string {
  return [
    `curl ${urlText(endpoint)}`,
    '-H "Authorization: Bearer $OPENAI_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');
}

/** Removes user, password, and query, which may contain a key. */
function urlText(endpoint: string | undefined): string {
  const url =
    endpoint !== undefined && /^https?:/i.test(endpoint) && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined) return '"$OPENAI_BASE_URL/chat/completions"';
  return quoted(`${url.protocol}//${url.host}${withoutEnd(url.pathname, '/')}/chat/completions`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

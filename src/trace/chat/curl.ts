/** A model call as a command for a POSIX shell. The key is left to the shell's environment. */
import type { JsonObject } from '../../common/json.ts';

/** `endpoint`: as recorded; where it is no web address, the shell's environment names one as well. */
export function curlText(endpoint: string | undefined, body: JsonObject): string {
  return [
    `curl ${urlText(endpoint)}`,
    '-H "Authorization: Bearer $OPENAI_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');
}

/** Without user, password and query, which may hold a key. */
function urlText(endpoint: string | undefined): string {
  const url =
    endpoint !== undefined && /^https?:/i.test(endpoint) && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined) return '"$OPENAI_BASE_URL/chat/completions"';
  return quoted(`${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}/chat/completions`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Decides which values of environment variables can be hidden, and which parts of a URL are secret. */

/** Fewer characters occur in any text by accident. */
export const MIN_SECRET = 4;
/** Numbers with fewer digits occur everywhere: ports, years, counts. */
const MIN_DIGITS = 6;
/** Lines of a value with several, such as a private key, are also hidden one by one from this length on. */
const MIN_LINE = 16;

/** Why a value stays visible. */
export type VisibleReason = 'short' | 'common';

/** Words that occur in ordinary texts and in events: hiding them would garble both, and hide nothing. */
const COMMON = new Set(
  (
    'true false null none undefined yes no on off auto default enabled disabled localhost local remote http https ' +
    'postgres postgresql mysql sqlite redis root admin user users guest test tests testing demo example secret ' +
    'password token public private dev development prod production staging release latest main master debug info ' +
    'warn warning error trace verbose redacted text json yaml html plain string number boolean object array value ' +
    'name model models system assistant tool tools agent agents message messages content data file files home ' +
    '0.0.0.0 127.0.0.1 ::1 host.docker.internal utf-8 en_us.utf-8'
  ).split(' '),
);

/**
 * Words of events and frames. A value that is part of one stays visible, because an event in which it was replaced
 * would be invalid. A test compares this list with the schemas.
 */
const FORMAT_WORDS = (
  'rollout.start rollout.lease message model.start model.end tool.start tool.end agent.start agent.end world.open ' +
  'world.close world.diff world.snapshot score scoring hold release edit rollout.end batch.start infra control note ' +
  'batch.end batch task attempt seed config code model fork times rollout none epoch worker snapshot fresh resumed ' +
  'rollout.handover handed_over leaving session_header ' +
  'closing role parts origin from topic priority headers system user assistant tool type content text $blob bytes ' +
  'media head reasoning name arguments tool_call response tool_call_response mime_type modality blob sampled given ' +
  'compacted edited step endpoint context sampling tools status finish_reason usage queue_ms first_ms retries ' +
  'weights tokens drift trainable why_not source error input_tokens output_tokens cached_tokens reasoning_tokens ' +
  'class live recorded simulated facts overlay predicted observed imported prediction shadow forced free rates ' +
  'controllability error_handling consistency checked limit stack place invalid_arguments unknown_tool tool_error ' +
  'world_error timeout cancelled model_error malformed_output context_overflow infrastructure steps seconds file ' +
  'line column call effect pure restorable irreversible result injected made team handoff parallel loop world kind ' +
  'changes table before after insert update delete scorer value passed checks explanation cause expected actual ' +
  'breakpoint side command limit_ms pause input lost_server held_ms continue expired path stream reward answer ' +
  'touched totals fingerprint done truncated tool_calls cost submission parent differs what node verb args label ' +
  'reason prompt completion logprobs keep protocol slots rollouts away_ms hello last want lease events append span ' +
  'offset delta load skew_ms beat running held waiting claim inspector retry_after_ms count busy down denied ' +
  'missing no_sandbox faults recovered worked_around repeated gave_up rescores scenario template clock real version ' +
  'blame outcome complete partial agent_error format environment_error predictions failed right keys deterministic ' +
  'existing runtime succeeded more paused_ms aborted weights_from replica condition part group user leaving ' +
  'waited_ms waited_for priority share waits peak all_replicas'
).split(' ');

/** Returns why a value cannot be hidden; undefined if it can. */
export function visibleReason(value: string): VisibleReason | undefined {
  const text = value.trim();
  if (text.length < MIN_SECRET) return 'short';
  const lower = text.toLowerCase();
  if (/^[\d.,:-]*$/.test(text) && text.replaceAll(/\D/g, '').length < MIN_DIGITS) return 'common';
  if (COMMON.has(lower) || FORMAT_WORDS.some((word) => word.includes(lower))) return 'common';
  return /^(.)\1*$/.test(text) ? 'common' : undefined;
}

/** Returns why a value is not hidden, or not everywhere, to complete “the value is …”; undefined if it is. */
export function hidingNote(value: string): string | undefined {
  switch (visibleReason(value)) {
    case 'short':
      return 'too short to hide: records show it';
    case 'common':
      return 'too common to hide: records show it';
    case undefined:
      return /^\s*-?\d+(?:\.\d+)?\s*$/.test(value)
        ? 'a number: it is hidden in texts, but records show it where JSON has a number'
        : undefined;
  }
}

/**
 * Returns the texts to hide for a value: the value, without surrounding white space, its longer lines, and the password
 * of a URL. Empty if it cannot be hidden.
 */
export function secretsOf(value: string): string[] {
  const text = value.trim();
  const lines = text.includes('\n')
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line.length >= MIN_LINE && !line.startsWith('-----'))
    : [];
  return [text, ...lines, ...secretsInUrl(text)].filter((part) => visibleReason(part) === undefined);
}

/** Query parameters whose values are keys. */
const KEY_PARAMETER = /key|token|secret|sig|pass|pwd|auth|cred|code|session/i;

/**
 * Returns the parts of a URL that could be secret, as written and decoded: the password, values of query parameters
 * that are keys, and parts of the path and query that look like one. Empty if the text is not a URL.
 */
export function secretsInUrl(text: string): string[] {
  const url = urlOf(text);
  if (url === undefined) return [];
  // A user name with a password is not secret; alone, it is a key.
  const found = [url.password === '' ? url.username : url.password, ...url.pathname.split('/').filter(looksRandom)];
  for (const pair of url.search.slice(1).split('&')) {
    const at = pair.indexOf('=');
    const value = at === -1 ? pair : pair.slice(at + 1);
    if ((at !== -1 && KEY_PARAMETER.test(pair.slice(0, at))) || looksRandom(value)) found.push(value);
  }
  return [...new Set(found.flatMap((part) => [part, decoded(part)]))].filter(
    (part) => visibleReason(part) === undefined,
  );
}

/**
 * Returns a URL for display: without user, password, query, and parts of the path that look like a key. A text that is
 * not a URL, or that has references to variables instead of their values, stays as it is.
 */
export function publicUrl(text: string): string {
  if (text.includes('${')) return text;
  const url = urlOf(text);
  if (url === undefined) return text;
  const path = url.pathname
    .split('/')
    .map((segment) => (looksRandom(segment) ? '…' : segment))
    .join('/');
  return `${url.protocol}//${url.host}${path}`.replace(/\/$/, '');
}

function urlOf(text: string): URL | undefined {
  return text.includes('://') && URL.canParse(text) ? new URL(text) : undefined;
}

/** Whether a part of a URL has a word of at least 16 letters and digits, with both. */
function looksRandom(part: string): boolean {
  return (part.match(/[A-Za-z0-9]{16,}/g) ?? []).some((word) => /[A-Za-z]/.test(word) && /\d/.test(word));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray `%` is itself
  }
}

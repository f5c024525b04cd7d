/** Builds the text of Collect Diagnostics and redacts it. */
import { redactor } from '../../common/redaction/redactor.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { redactStore } from '../server/serverLink.ts';

export interface DiagnosticFacts {
  readonly product: string;
  readonly editor: string;
  readonly system: string;
  readonly remote: string | undefined;
  readonly trusted: boolean;
  readonly store: string;
  readonly target: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The server's response, or why there is none. */
  readonly server: ServerInfo | string;
  readonly log: readonly string[];
  /** Texts to redact everywhere. */
  readonly secrets: readonly string[];
}

export function diagnosticsText(facts: DiagnosticFacts): string {
  const { product, editor, system, remote, trusted, store, target, settings, server, log } = facts;
  const sections = [
    '# Rollout Studio diagnostics',
    [
      '## Versions',
      `- extension: ${product}`,
      `- editor: ${editor}`,
      `- system: ${system}`,
      `- remote: ${remote ?? 'no'}`,
      `- workspace trusted: ${trusted ? 'yes' : 'no'}`,
      `- target: ${target}`,
      `- store: ${redactStore(store)}`,
    ].join('\n'),
    ['## Settings', fenced('json', JSON.stringify(settings, undefined, 2))].join('\n\n'),
    ['## Server', typeof server === 'string' ? server : fenced('json', JSON.stringify(server, undefined, 2))].join(
      '\n\n',
    ),
    [`## Log, last ${log.length} lines`, fenced('', log.join('\n'))].join('\n\n'),
  ];
  const redact = redactor([
    ...facts.secrets,
    ...passwordsIn(store),
    ...Object.values(settings).flatMap((value) => (typeof value === 'string' ? passwordsIn(value) : [])),
  ]);
  return `${withoutPasswords(redact.text(sections.join('\n\n')))}\n`;
}

/** Returns a fenced block whose fence is longer than any run of backticks inside. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function passwordsIn(address: string): string[] {
  if (!URL.canParse(address)) return [];
  const url = new URL(address);
  return [url.password, decodeURIComponent(url.password), url.searchParams.get('password') ?? ''].filter(
    (text) => text !== '',
  );
}

/** Redacts passwords in URLs, because logs can contain any store or endpoint. */
function withoutPasswords(text: string): string {
  return text
    .replaceAll(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s@/]+@/gi, '$1***@')
    .replaceAll(/\b(Bearer\s+)[\w.~+/=-]+/gi, '$1***');
}

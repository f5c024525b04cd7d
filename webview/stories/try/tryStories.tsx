/** The panel of “Try Tool…” in its states. */
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { ListedTool, TriedCall, TryToPage } from '../../../src/protocol/tryPage.ts';
import { TryPage } from '../../try/tryPage.tsx';
import { TrySession } from '../../try/trySession.ts';
import { story } from '../index.ts';

const FIELDS: JsonObject = {
  type: 'object', additionalProperties: false, required: ['query', 'branch', 'copies', 'renew', 'authors', 'due', 'address', 'sort'],
  properties: {
    query: { type: 'string', description: 'Words of the title, of the author or of the text on the back.' },
    branch: { enum: ['centre', 'harbour', 'university'], description: 'Where it is looked for.' },
    copies: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    renew: { type: 'boolean', description: 'Renews what is lent already.' },
    due: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }], description: 'Until when it is needed.' },
    authors: { type: 'array', items: { type: 'string', maxLength: 80 }, minItems: 1 },
    address: { type: 'object', required: ['street', 'city'], properties: { street: { type: 'string', maxLength: 80 }, city: { type: 'string', maxLength: 80 }, floor: { type: 'integer' } } },
    sort: { oneOf: [{ title: 'by year', type: 'object', required: ['year'], properties: { year: { enum: ['up', 'down'] } } }, { title: 'by title', type: 'object', required: ['title'], properties: { title: { type: 'boolean' } } }] },
    loud: { type: 'boolean' },
    rest: { type: 'object', additionalProperties: true, description: 'Whatever the library’s own search takes.' },
  },
};
const SEARCH: ListedTool = { name: 'search_catalogue', description: 'Looks for books in the catalogue of all branches.\nGives the nearest ten.', effect: 'pure', parameters: FIELDS, from: { kind: 'module', name: 'tools/catalogue.ts' }, output: { type: 'object', properties: { books: { type: 'array' } } } };
const SHORT: ListedTool = { ...SEARCH, effect: 'irreversible', parameters: { type: 'object', required: ['query'], properties: { query: { type: 'string' }, most: { type: 'integer', minimum: 1 } } } };
const GIVEN: JsonObject = {
  query: 'The harbour\nat night', branch: 'harbour', copies: 2, renew: true, due: '2026-03-01', authors: ['M. Tide', 'A. Quay'],
  address: { street: '1 Pier Road', city: 'Port' }, sort: { year: 'down' }, rest: { shelf: 'B', near: ['C', 'D'] },
};
const BOOKS: Json = { books: [{ title: 'Tides', year: 1994, copies: 3, lent: false }, { title: 'The Quay at Night', year: 2003, copies: 1, lent: true }, { title: 'Harbour Lights', year: 2017, copies: 2, lent: false }] };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGNgGAWjYBSMglEwCkbBKAAABBAAAUkLcJ8AAAAASUVORK5CYII=';
const ok = (result: Json, more: Partial<TriedCall> = {}): TriedCall => ({ status: 'ok', result, ms: 41.7, log: '', ...more });
const failure: TriedCall = {
  status: 'error', ms: 12.1, log: 'asking the harbour branch\n\u001b[33mit is slow today\u001b[0m\n',
  error: { class: 'tool_error', message: 'the branch “harbour” has no catalogue', stack: 'Error: no\n    at branchOf (tools/catalogue.ts:31:11)\n    at run (tools/catalogue.ts:12:18)\n    at node:internal/process:1:1', place: { file: 'tools/catalogue.ts', line: 31, column: 11 } },
};

/** A panel that was told these messages; a run among them is one that somebody asked for. */
function panel(...steps: readonly (TryToPage | 'run' | ((session: TrySession) => void))[]) {
  let take: (data: unknown) => void = () => undefined;
  const session = new TrySession({ post: () => undefined, listen: (listener) => { take = listener; } });
  for (const step of steps) {
    if (step === 'run') session.run();
    else if (typeof step === 'function') step(session);
    else take(step);
  }
  return <TryPage session={session} />;
}

const tool = (of: ListedTool, given?: JsonObject, problem?: string): TryToPage => ({ type: 'tool', tool: of, file: 'tools/catalogue.ts', ...(given === undefined ? {} : { arguments: given }), ...(problem === undefined ? {} : { problem }) });
const made = (call: TriedCall): TryToPage => ({ type: 'made', call });

story('try', 'new', () => panel(tool(SEARCH)));
story('try', 'filled', () => panel(tool(SEARCH, GIVEN)));
story('try', 'problems', () => panel(tool(SEARCH, { ...GIVEN, copies: 12, authors: [], due: 'soon', address: { street: '' }, page: 2 }), 'run'));
story('try', 'json', () => panel(tool(SEARCH, { ...GIVEN, copies: 'two' }), (session) => session.asText(true)));
story('try', 'running', () => panel(tool(SHORT, { query: 'tides' }), 'run', { type: 'told', text: 'asking the harbour branch' }, { type: 'told', text: '2 of 3 branches' }), { busy: true });
story('try', 'result', () => panel(tool(SHORT, { query: 'tides' }), 'run', made(ok(BOOKS, { log: 'asking the harbour branch\n', retries: [{ class: 'timeout' }] }))));
story('try', 'tries', () => panel(
  tool(SHORT, { query: 'tides' }), 'run', made(ok((BOOKS as { books: Json }).books)), 'run', { type: 'unmade', why: 'cancelled', text: 'It was cancelled.' }, 'run', made(failure), 'run',
  { type: 'unmade', why: 'failed', text: 'The tools use ${env:LIBRARY_KEY}, and the environment has no value for it.' }, (session) => session.pick(1),
));
story('try', 'error', () => panel(tool(SHORT, { query: 'tides' }, 'tools/catalogue.ts:4: “)” expected.'), 'run', made(failure)));
story('try', 'picture', () => panel(tool({ ...SHORT, parameters: { type: 'object', properties: {} } }), 'run', made(ok('a map of the branch', { files: [{ mime_type: 'image/png', content: PIXEL }, { mime_type: 'audio/wav', content: PIXEL }] }))));

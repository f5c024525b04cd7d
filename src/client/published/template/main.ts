/**
 * Runs SQL in a process of its own: statements of others may take any amount of time, and SQLite cannot be interrupted
 * from within. Each line of standard input is a request, for a template, a query, or the facts of a world; each line
 * of standard output is its result.
 */
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { errorText } from '../../../common/errors.ts';
import { openDatabase } from '../../../store/sqlite/driver.ts';
import { type FactsRequest, factsRequest } from '../../simulation/facts/requests.ts';
import { type OpenDatabase, runQueries, runScript } from '../../simulation/facts/script.ts';
import { buildTemplate, templateRequest } from './build.ts';
import { queryRequest, runQuery } from './query.ts';

const requests = z.union([z.object({ facts: factsRequest }), queryRequest, templateRequest]);
const open: OpenDatabase = (file) => openDatabase(file, { readOnly: false });

createInterface({ input: process.stdin }).on('line', (line) => {
  let result: object;
  try {
    result = answerOf(requests.parse(JSON.parse(line)));
  } catch (error) {
    result = { failure: errorText(error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
});

function answerOf(request: z.infer<typeof requests>): object {
  if ('facts' in request) return ofFacts(request.facts);
  return 'query' in request
    ? runQuery(request, (file) => openDatabase(file, { readOnly: true }))
    : buildTemplate(request, open);
}

function ofFacts(request: FactsRequest): object {
  return 'script' in request
    ? runScript(request.script, open)
    : { results: runQueries(request.tables, request.queries, open) };
}

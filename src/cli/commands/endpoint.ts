/** The `endpoint` command: pauses, versions, and resumes the model endpoints of running batches. */
import { personName } from '../../client/person.ts';
import { table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { EndpointInfo, SetEndpoint } from '../../protocol/endpoints.ts';
import { type Command, type CommandLine, flag, numberOption, textOption } from '../command.ts';

const VERBS = ['list', 'pause', 'resume', 'version'] as const;

export const endpoint: Command = {
  name: 'endpoint',
  usage: 'list | pause URL | resume URL | version URL',
  text:
    'Pauses the model endpoint of running batches while a trainer changes its weights, and says which version of ' +
    'them it serves. A pause ends when no call is in flight; calls wait for its end.',
  options: {
    replica: { type: 'string', value: 'NAME', text: 'only this replica of the endpoint' },
    weights: { type: 'string', value: 'N', text: 'resume, version: version of the weights, a whole number' },
    force: { type: 'boolean', text: 'with --weights: the version may be older than the current one' },
    abort: { type: 'boolean', text: 'pause: abort running calls; they are made again after the pause' },
    wait: { type: 'string', value: 'SECONDS', text: 'pause: how long to wait for running calls (600)' },
  },
  async run(context, commandLine) {
    const [word, url, ...more] = commandLine.words;
    const verb = VERBS.find((one) => one === word);
    if (verb === undefined || more.length > 0 || (verb === 'list') !== (url === undefined))
      throw new StudioError('usage', `usage: rollout endpoint ${endpoint.usage}`);
    const change = verb === 'list' ? undefined : changeOf(verb, url ?? '', commandLine, personName(context.env));
    const { api } = await context.connect();
    if (change === undefined) {
      const endpoints = await api.endpoints(context.signal);
      if (context.json) context.printJson({ endpoints });
      else context.print(listText(endpoints));
      return 0;
    }
    const info = await api.setEndpoint(change, context.signal);
    if (context.json) context.printJson(info);
    else context.print(`${nameOf(info)} ${stateText(info)}.`);
    return 0;
  },
};

function changeOf(
  verb: Exclude<(typeof VERBS)[number], 'list'>,
  url: string,
  commandLine: CommandLine,
  by: string,
): SetEndpoint {
  const replica = textOption(commandLine, 'replica');
  const version = numberOption(commandLine, 'weights', 0);
  const wait = numberOption(commandLine, 'wait', 1);
  if (verb === 'version' && version === undefined)
    throw new StudioError('usage', 'rollout endpoint version needs --weights N.');
  if (verb === 'pause' && version !== undefined)
    throw new StudioError('usage', 'The version of the weights changes at the end of a pause: use it with resume.');
  return {
    endpoint: url,
    ...(replica === undefined ? {} : { replica }),
    state: verb === 'pause' ? 'paused' : 'serving',
    ...(version === undefined ? {} : { version }),
    ...(flag(commandLine, 'force') ? { force: true } : {}),
    ...(flag(commandLine, 'abort') ? { mode: 'abort' } : {}),
    ...(wait === undefined ? {} : { wait_seconds: wait }),
    by,
  };
}

function nameOf(info: EndpointInfo): string {
  return info.replica === undefined ? info.endpoint : `${info.replica} of ${info.endpoint}`;
}

function stateText({ state, version, calls, by }: EndpointInfo): string {
  const weights = version === undefined ? '' : `, weights ${version}`;
  if (state === 'serving') return `serves${weights}`;
  const who = by === undefined ? '' : ` by ${by}`;
  return state === 'paused' ? `is paused${who}${weights}` : `is being paused${who}: ${plural(calls, 'call')}${weights}`;
}

function listText(endpoints: readonly EndpointInfo[]): string {
  if (endpoints.length === 0) return 'No running batch uses a model endpoint.';
  return table([
    ['endpoint', 'replica', 'state', 'weights', 'calls', 'by', 'for'],
    ...endpoints.map((one) => [
      one.endpoint,
      one.replica ?? '',
      one.state,
      one.version === undefined ? '' : String(one.version),
      String(one.calls),
      one.by ?? '',
      one.since === undefined ? '' : duration(Math.max(0, Date.now() - one.since)),
    ]),
  ]);
}

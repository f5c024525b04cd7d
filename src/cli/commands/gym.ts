import path from 'node:path';
import { readBatch } from '../../client/submitFile.ts';
import { isPostgresUrl } from '../../common/postgres.ts';
import { formatProblem } from '../../config/source/problem.ts';
import { type Command, numberOption, oneWord, textOption } from '../command.ts';
import { liveModels } from '../sideModels.ts';
import { targetOfFile } from '../targetOfFile.ts';

/** A policy that thinks for so long between two calls is gone. */
const IDLE_SECONDS = 900;

export const gym: Command = {
  name: 'gym',
  usage: 'BATCH.yaml [--port N] [--host ADDRESS]',
  text:
    "Serves the rollouts of a batch by NeMo Gym's POST /run, and environments of its tasks to policies of trainers, " +
    'until Ctrl-C. That seals the batch.',
  options: {
    port: { type: 'string', value: 'N', text: 'port to listen on (any free port)' },
    host: {
      type: 'string',
      value: 'ADDRESS',
      text: 'address to listen on (127.0.0.1); whoever reaches it can run tools, without a token',
    },
    deadline: {
      type: 'string',
      value: 'SECONDS',
      text: 'longest time of a rollout from its request to its end; then its answer is a failure without a reward',
    },
    idle: {
      type: 'string',
      value: 'SECONDS',
      text: `an environment ends after this time without calls (${IDLE_SECONDS})`,
    },
  },
  async run(context, commandLine) {
    const file = oneWord(gym, commandLine);
    const [port, deadlineSeconds, idleSeconds] = [
      numberOption(commandLine, 'port', 0) ?? 0,
      numberOption(commandLine, 'deadline', 1),
      numberOption(commandLine, 'idle', 1) ?? IDLE_SECONDS,
    ];
    const target = context.target ?? (await targetOfFile(context, file, gym.name));
    const connecting = context.connect(target);
    connecting.catch(() => undefined); // awaited below, unless reading the files fails first
    const { built, warnings } = await readBatch(file, context, context.env, {
      target,
      allTasks: true, // rows name them
      connect: async () => (await connecting).api,
      signal: context.signal,
    });
    for (const warning of warnings) context.log(formatProblem(warning, context.cwd));
    const { agent, seed } = built.submission;
    if (!agent.model.capture.token_ids)
      context.log(
        `The agent ${agent.name} captures no token IDs, so nothing that /run answers can be trained. Set ` +
          '`capture: { token_ids: true, logprobs: true }` in the `model` section of its file.',
      );
    const { serveGym } = await import('../../gym/serve.ts'); // only this command needs it
    await serveGym({
      server: await connecting,
      built,
      host: textOption(commandLine, 'host') ?? '127.0.0.1',
      port,
      deadlineSeconds,
      idleSeconds,
      ask: liveModels(context, file, seed),
      hidden: isPostgresUrl(context.store) ? [] : [path.resolve(context.store)],
      announce: ({ url, batch }) => {
        if (context.json) context.printJson({ url, batch });
        else context.print(`Serving batch ${batch} at ${url}. Press Ctrl-C to seal it and end.`);
      },
      log: context.log,
      signal: context.signal,
    });
    return 0;
  },
};

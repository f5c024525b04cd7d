import type { EventKind } from '../../trace/schema.ts';

/** Describes each kind of event. */
export const EVENT_TEXTS: Readonly<Record<EventKind, string>> = {
  'rollout.start': 'A rollout starts. Written by its first worker.',
  'rollout.lease': 'A worker takes the rollout.',
  'rollout.handover': 'A worker that has to stop hands the rollout over: the next one continues it.',
  message:
    'A message of the conversation, numbered by `m`. With `side`, only a side model sees or writes it, as in ' +
    '`model.start`.',
  'model.start':
    'A model call begins. `context` lists the messages that it sees. With `side`, it is a call of a side model ' +
    '(`user`, `judge`, or the name of another one) and not a step: `step` is the one that contains it, 0 before ' +
    'the first. If code of a tool asked, `parent` is its `tool.start`.',
  'model.end':
    'A model call ends with a message or an error. With the source `recorded`, it was answered when an earlier try ' +
    'of the same tool call asked.',
  'tool.start': 'A tool call begins, as the model requested it.',
  'tool.end': 'A tool call ends with a result or an error.',
  'agent.start': 'A member of a team, or an agent that was handed off to, begins.',
  'agent.end': 'A member of a team, or an agent that was handed off to, ends.',
  'world.open': 'The world of the task is opened.',
  'world.close': 'The world is closed.',
  'world.diff': 'A call changed the world.',
  'world.snapshot': 'The state of the world was saved.',
  score: 'A scorer judged the rollout. In the stream of a batch: a later score.',
  hold: 'The rollout waits at a gate.',
  release: 'The rollout continues after a hold.',
  edit: 'A person changed a recorded value.',
  log: 'Output of a tool.',
  'rollout.end': 'The rollout ended. `totals` are those of the agents; `totals.side` are those of the side models.',
  'batch.start': 'A batch was created.',
  infra: 'Something happened to a pod, a worker, or an endpoint.',
  control: 'A person or a client sent a command, e.g. pause or cancel.',
  note: 'A person added a note or a label.',
  'batch.end': 'The batch ended.',
};

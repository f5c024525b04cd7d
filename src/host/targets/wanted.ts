/** Which target a command is about. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { BACK } from '../window/questions/answer.ts';
import type { Choice } from '../window/questions/choice.ts';
import { pickOne } from '../window/questions/dialogue.ts';
import type { KnownTarget, KnownTargets } from './knownTargets.ts';

const ADD = Symbol('add');
const name = z.string().min(1);
const argumentSchema = z.union([name, z.object({ target: name }).transform(({ target }) => target)]);

/** What a row of the tree or a caller names. */
export function targetArgument(argument: unknown): string | undefined {
  return argumentSchema.safeParse(argument).data;
}

interface TargetItem {
  readonly title: string;
  readonly kind?: KnownTarget['kind'];
}

/** The one that is named, the only one, else the one that is picked. Throws StudioError `not_found`. */
export async function wantedTarget(
  targets: KnownTargets,
  argument: unknown,
  { title, kind }: TargetItem,
): Promise<KnownTarget | undefined> {
  await targets.refresh();
  const known = targets.list.value.filter((target) => kind === undefined || target.kind === kind);
  const named = targetArgument(argument);
  if (named !== undefined) {
    const found = known.find((target) => target.name === named);
    if (found === undefined)
      throw new StudioError(
        'not_found',
        kind === 'cluster' ? `${named} is no cluster that was added.` : `There is no target “${named}”.`,
        { hint: 'Rollout: Add Target… adds one.' },
      );
    return found;
  }
  if (known.length === 0)
    throw new StudioError('not_found', 'No cluster was added yet.', { hint: 'Rollout: Add Target… adds one.' });
  if (known.length === 1) return known[0];
  const picked = await pickOne(
    { title, step: 1, steps: 1 },
    known.map((value) => ({ label: value.name, description: value.place, value })),
    { placeholder: 'Which target?' },
  );
  return picked === BACK ? undefined : picked;
}

/** One to work with; adding another is offered, too, and done by the command of its own. */
export async function pickTarget(targets: KnownTargets, used: string): Promise<string | undefined> {
  await targets.refresh();
  const known = [{ name: LOCAL, place: 'this machine' }, ...targets.list.value];
  const choices: Choice<string | typeof ADD>[] = known.map(({ name: value, place }) => ({
    label: value,
    description: value === used ? `${place} · in use` : place,
    icon: value === used ? 'check' : 'blank',
    value,
  }));
  const active = known.findIndex(({ name: each }) => each === used);
  const picked = await pickOne(
    { title: 'Select Target', step: 1, steps: 1 },
    [...choices, { label: 'Add Target…', icon: 'add', value: ADD }],
    { placeholder: 'Where does this window work?', active },
  );
  if (picked !== ADD) return picked === BACK ? undefined : picked;
  await vscode.commands.executeCommand('rollout.addTarget');
  return undefined;
}

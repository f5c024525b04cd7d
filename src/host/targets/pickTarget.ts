/** Finds out which target a command applies to: from its argument, or by asking. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { BACK, type Choice } from '../window/questions/answer.ts';
import { pickOne } from '../window/questions/dialogue.ts';
import type { ConfiguredTarget, TargetRegistry } from './targetRegistry.ts';

const ADD = Symbol('add');
const name = z.string().min(1);
const argumentSchema = z.union([name, z.object({ target: name }).transform(({ target }) => target)]);

/** The target that a tree item or a caller names. */
export function targetArgument(argument: unknown): string | undefined {
  return argumentSchema.safeParse(argument).data;
}

interface TargetFilter {
  readonly title: string;
  readonly kind?: ConfiguredTarget['kind'];
}

/** The named target, else the only one, else the one the user picks. Throws StudioError `not_found`. */
export async function pickTarget(
  targets: TargetRegistry,
  argument: unknown,
  { title, kind }: TargetFilter,
): Promise<ConfiguredTarget | undefined> {
  await targets.refresh();
  const candidates = targets.list.value.filter((target) => kind === undefined || target.kind === kind);
  const named = targetArgument(argument);
  if (named !== undefined) {
    const match = candidates.find((target) => target.name === named);
    if (match === undefined)
      throw new StudioError(
        'not_found',
        kind === 'cluster' ? `No cluster named “${named}” has been added.` : `Unknown target “${named}”.`,
        { hint: 'Add it with “Rollout: Add Target…”.' },
      );
    return match;
  }
  if (candidates.length === 0)
    throw new StudioError('not_found', 'No cluster has been added yet.', {
      hint: 'Add one with “Rollout: Add Target…”.',
    });
  if (candidates.length === 1) return candidates[0];
  const picked = await pickOne(
    { title, step: 1, steps: 1 },
    candidates.map((value) => ({ label: value.name, description: value.place, value })),
    { placeholder: 'Select a target' },
  );
  return picked === BACK ? undefined : picked;
}

/** Picks the target that this window works with. Also offers Add Target…, which runs that command. */
export async function pickCurrentTarget(targets: TargetRegistry, current: string): Promise<string | undefined> {
  await targets.refresh();
  const candidates = [{ name: LOCAL, place: 'this machine' }, ...targets.list.value];
  const choices: Choice<string | typeof ADD>[] = candidates.map(({ name: value, place }) => ({
    label: value,
    description: value === current ? `${place} · in use` : place,
    icon: value === current ? 'check' : 'blank',
    value,
  }));
  const active = candidates.findIndex(({ name: each }) => each === current);
  const picked = await pickOne(
    { title: 'Select Target', step: 1, steps: 1 },
    [...choices, { label: 'Add Target…', icon: 'add', value: ADD }],
    { placeholder: 'Select the target for this window', active },
  );
  if (picked !== ADD) return picked === BACK ? undefined : picked;
  await vscode.commands.executeCommand('rollout.addTarget');
  return undefined;
}

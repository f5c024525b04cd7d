import type { JsonObject } from '../../common/json.ts';
import type { LoadedWorld } from '../load/world.ts';
import { dirname, joinPath } from '../paths.ts';
import { effectArgs, type PerturbRule } from '../schema/perturbSection.ts';
import type { SubmittedRule } from '../submission/rule.ts';
import type { SubmittedWorld } from '../submission/world.ts';
import type { Bundles } from './blobs.ts';

/** Returns the rules of a world, with defaults applied. */
export function submittedRules({ file, path }: LoadedWorld, bundles: Bundles): Promise<SubmittedRule[]> {
  return Promise.all(file.perturb.map((rule) => submittedRule(rule, path, bundles)));
}

/** Returns a world with its rules; what they say is part of the instruction to its model. */
export function withRules<W extends SubmittedWorld>(world: W, perturb: readonly SubmittedRule[], on: boolean): W {
  const said = on ? perturb.flatMap(({ say }) => (say === undefined ? [] : [say.trim()])) : [];
  const own = { ...world, perturb: [...perturb] };
  if (own.kind !== 'simulated' || said.length === 0) return own;
  const { instruction } = own.texts;
  const lines = [...(instruction === undefined ? [] : [instruction.trim()]), ...said];
  return { ...own, texts: { ...own.texts, instruction: lines.join('\n') } };
}

async function submittedRule(rule: PerturbRule, path: string, bundles: Bundles): Promise<SubmittedRule> {
  const { name, when, p, effect, args, module, export: exported = '', say, check } = rule;
  const common = {
    name,
    ...(when === undefined ? {} : { when }),
    p,
    ...(say === undefined ? {} : { say }),
    ...(check === undefined ? {} : { check }),
  };
  switch (effect) {
    case undefined:
      if (module === undefined) return { ...common, effect: 'say' };
      return {
        ...common,
        effect: 'function',
        module: await bundles.add(joinPath(dirname(path), module)),
        export: exported,
        ...(args === undefined ? {} : { args: args as JsonObject }), // parsed from YAML or JSON
      };
    case 'error': {
      const { class: errorClass = 'tool_error', message = 'The call failed.', wait = 0 } = effectArgs(effect, args);
      return { ...common, effect, args: { class: errorClass, message, wait_seconds: wait } };
    }
    case 'timeout': {
      const { wait = false } = effectArgs(effect, args);
      return { ...common, effect, args: { wait_seconds: wait === true ? 'limit' : wait === false ? 0 : wait } };
    }
    case 'delay':
      return { ...common, effect, args: { wait_seconds: effectArgs(effect, args).wait } };
    case 'drop': {
      const { fields = [], items = 0 } = effectArgs(effect, args);
      return { ...common, effect, args: { fields, items } };
    }
    case 'truncate':
      return { ...common, effect, args: effectArgs(effect, args) };
    case 'text': {
      const { text, place = 'replace' } = effectArgs(effect, args);
      return { ...common, effect, args: { text, place } };
    }
    case 'empty':
    case 'stale':
      return { ...common, effect };
  }
}

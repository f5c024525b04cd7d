import type { JsonObject } from '../../common/json.ts';
import type { LoadedWorld } from '../load/world.ts';
import { dirname, joinPath } from '../paths.ts';
import { effectArgs, type PerturbRule } from '../schema/perturbSection.ts';
import type { SubmittedRule } from '../submission/rule.ts';
import type { Bundles } from './blobs.ts';

/** Returns the rules of a world, with defaults applied. */
export function submittedRules({ file, path }: LoadedWorld, bundles: Bundles): Promise<SubmittedRule[]> {
  return Promise.all(file.perturb.map((rule) => submittedRule(rule, path, bundles)));
}

async function submittedRule(rule: PerturbRule, path: string, bundles: Bundles): Promise<SubmittedRule> {
  const { name, when, p, effect, args, module = '', export: exported = '' } = rule;
  const common = { name, ...(when === undefined ? {} : { when }), p };
  switch (effect) {
    case undefined:
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

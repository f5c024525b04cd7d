/** Completes the commands in messages for a target, so that they work when copied. Pure. */
import type { Target } from '../targets/target.ts';

/** Commands that act on a target: `rollout`, and what follows it before options. */
const ROLLOUT = /\brollout (cluster (?:install|upgrade|uninstall|render)|(?:resume|retry|pause|cancel)\b)/g;
const KUBECTL = /\bkubectl (?=(?:annotate|create|delete|describe|get|label|logs|patch|rollout|scale|taint) )/g;
/** Arguments of kubectl that need no namespace, or have one. */
const WITHOUT_NAMESPACE = /\b(?:nodes?|namespaces?|ingressclass)\b|(?:^|\s)(?:-A|-n|--namespace|--all-namespaces)\b/;
/** What a word must match to need no quotes in any shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * Returns a message with commands that reach the target: `rollout cluster upgrade` becomes `rollout cluster upgrade
 * --target NAME`, and `kubectl` gets the context and the namespace. Commands that name theirs stay as they are.
 */
export function placed(text: string, name: string, target: Target): string {
  const own = ` --target ${quotedWord(name)}`;
  const options = !('context' in target)
    ? []
    : [
        ...(target.kubeconfig === undefined ? [] : ['--kubeconfig', quotedWord(target.kubeconfig)]),
        ...['--context', quotedWord(target.context)],
      ];
  return text
    .replaceAll(ROLLOUT, (command: string, _verb: string, at: number) =>
      restOf(text, at + command.length).includes('--target') ? command : command + own,
    )
    .replaceAll(KUBECTL, (command, at: number) => {
      const namespace = 'url' in target ? undefined : target.namespace;
      const isPlaced = namespace === undefined || WITHOUT_NAMESPACE.test(restOf(text, at + command.length));
      const words = [...options, ...(isPlaced ? [] : ['-n', quotedWord(namespace)])];
      return command + words.map((word) => `${word} `).join('');
    });
}

/** Returns the rest of a sentence. */
function restOf(text: string, from: number): string {
  const end = /[.;,)](?:\s|$)|\n/.exec(text.slice(from));
  return text.slice(from, end === null ? undefined : from + end.index);
}

function quotedWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

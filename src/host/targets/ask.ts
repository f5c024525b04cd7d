/** What a new target is: a context of a kubeconfig, a namespace in its cluster, and a name. */
import * as vscode from 'vscode';
import { checkTargetName } from '../../client/targets/target.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Cli } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { BACK, type Answer } from '../window/questions/answer.ts';
import type { Choice } from '../window/questions/choice.ts';
import { input, pickOne } from '../window/questions/dialogue.ts';
import { walk } from '../window/questions/steps.ts';
import { kubeContexts, type KubeContext, type NewTarget } from './targetCli.ts';

const TITLE = 'Add Target';
const OTHER = Symbol('other');
/** Of a DNS label, as namespaces are called. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

interface Kube {
  readonly kubeconfig: string | undefined;
  readonly contexts: readonly KubeContext[];
}

/** undefined: a question was closed. */
export async function askTarget(cli: Cli, taken: readonly string[]): Promise<NewTarget | undefined> {
  let kube: Kube = { kubeconfig: undefined, contexts: await usualContexts(cli) };
  let context: KubeContext | undefined;
  let [namespace, name] = ['', ''];
  const done = await walk([
    async (step, steps) => {
      for (;;) {
        const picked = await pickContext(kube, step, steps);
        if (picked !== OTHER) return kept(picked, (value) => { context = value; });
        kube = (await otherKubeconfig(cli)) ?? kube;
      }
    },
    async (step, steps) => kept(await input({ title: TITLE, step, steps }, {
      prompt: 'Namespace of the rollout server; installing makes it where it is absent', value: context?.namespace ?? 'default',
      wrong: (text) => (NAMESPACE.test(text.trim()) ? undefined : 'Use small letters, digits and dashes.'),
    }), (value) => { namespace = value.trim(); }),
    async (step, steps) => kept(await input({ title: TITLE, step, steps }, {
      prompt: 'Name of the target, as batch files and --target call it', value: freeName(context?.name ?? '', taken), wrong: (text) => wrongName(text.trim(), taken),
    }), (value) => { name = value.trim(); }),
  ]);
  return done && context !== undefined ? { name, context: context.name, namespace, kubeconfig: kube.kubeconfig } : undefined;
}

function kept<T>(answer: Answer<T>, keep: (value: T) => void): Answer<T> {
  if (answer !== undefined && answer !== BACK) keep(answer);
  return answer;
}

/** There may be no kubeconfig where one is looked for: another file can be chosen. */
async function usualContexts(cli: Cli): Promise<readonly KubeContext[]> {
  return withProgress('Reading the kubeconfig', ({ signal }) => kubeContexts(cli, undefined, signal)).catch((error: unknown) => {
    if (StudioError.is(error, 'cancelled') || !StudioError.is(error)) throw error;
    void vscode.window.showWarningMessage(errorText(error));
    return [];
  });
}

async function pickContext({ contexts }: Kube, step: number, steps: number): Promise<Answer<KubeContext> | typeof OTHER> {
  const choices: Choice<KubeContext | typeof OTHER>[] = contexts.map((value) => ({
    label: value.name, icon: 'server-environment', value,
    description: [value.cluster === value.name ? '' : `cluster ${value.cluster}`, value.namespace === undefined ? '' : `namespace ${value.namespace}`, value.current ? 'current' : ''].filter((part) => part !== '').join(' · '),
  }));
  const current = contexts.findIndex((each) => each.current);
  return pickOne({ title: TITLE, step, steps }, [...choices, { label: 'Another Kubeconfig…', icon: 'folder-opened', value: OTHER }], {
    placeholder: contexts.length === 0 ? 'There is no context; choose a kubeconfig' : 'Which context of the kubeconfig?', active: Math.max(0, current),
  });
}

/** undefined: none was chosen. */
async function otherKubeconfig(cli: Cli): Promise<Kube | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: 'Kubeconfig', openLabel: 'Use', canSelectMany: false })) ?? [];
  if (file === undefined) return undefined;
  return { kubeconfig: file.fsPath, contexts: await kubeContexts(cli, file.fsPath) };
}

/** Made of the context's name, in which more characters may be. */
function freeName(context: string, taken: readonly string[]): string {
  const base = context.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '').slice(0, 40);
  const names = [base, ...taken.map((_, index) => `${base}-${index + 2}`)];
  return names.find((each) => wrongName(each, taken) === undefined) ?? '';
}

function wrongName(text: string, taken: readonly string[]): string | undefined {
  if (taken.includes(text)) return 'There is a target of this name.';
  try {
    checkTargetName(text);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

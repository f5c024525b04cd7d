/**
 * Asks for a new target: a kubeconfig context and namespace, or a server URL; and its name.
 */
import * as vscode from 'vscode';
import { checkTargetName } from '../../client/targets/target.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Cli } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { type Answer, type Choice, storeAnswer } from '../window/questions/answer.ts';
import { input, pickOne } from '../window/questions/dialogue.ts';
import { runSteps, SKIPPED } from '../window/questions/steps.ts';
import { type AddressDraft, addressSteps } from './address/askAddress.ts';
import { type KubeContext, kubeContexts, type NewTarget } from './targetCli.ts';

const TITLE = 'Add Target';
const OTHER = Symbol('other');
const ADDRESS = Symbol('address');
/** Namespaces are DNS labels. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

interface Kube {
  readonly kubeconfig: string | undefined;
  readonly contexts: readonly KubeContext[];
  /** Why there are no contexts. */
  readonly problem?: string;
}

type TargetAnswers =
  | (NewTarget & { readonly kind: 'cluster' })
  | (AddressDraft & { readonly kind: 'url'; readonly name: string });

/** Returns undefined if the user cancels. */
export async function askTarget(cli: Cli, usedNames: readonly string[]): Promise<TargetAnswers | undefined> {
  let kube = await defaultKube(cli);
  let picked: KubeContext | typeof ADDRESS | undefined;
  const draft: AddressDraft = { url: '', ca: undefined, token: '', login: undefined };
  let [namespace, name] = ['', ''];
  const done = await runSteps([
    async (step) => {
      for (;;) {
        // The number of steps depends on the choice.
        const answer = await pickContext(kube, step, 1);
        if (answer !== OTHER)
          return storeAnswer(answer, (value) => {
            picked = value;
          });
        kube = (await pickKubeconfig(cli)) ?? kube;
      }
    },
    async () => {
      if (picked === ADDRESS) return SKIPPED;
      return storeAnswer(
        await input(
          { title: TITLE, step: 2, steps: 3 },
          {
            prompt: 'Namespace of the rollout server. Installing creates it if necessary.',
            value: picked?.namespace ?? 'default',
            validate: (text) =>
              NAMESPACE.test(text.trim()) ? undefined : 'Use lowercase letters, digits, and dashes.',
          },
        ),
        (value) => {
          namespace = value.trim();
        },
      );
    },
    ...addressSteps(
      TITLE,
      draft,
      () => picked === ADDRESS,
      () => {
        const { contexts, kubeconfig } = kube;
        return contexts.map(({ name: context, cluster }) => ({ context, cluster, kubeconfig }));
      },
    ),
    async () => {
      const [base, step] = picked === ADDRESS ? [new URL(draft.url).hostname, 4] : [picked?.name ?? '', 3];
      return storeAnswer(
        await input(
          { title: TITLE, step, steps: step },
          {
            prompt: 'Name of the target for batch files and --target',
            value: unusedName(base, usedNames),
            validate: (text) => nameProblem(text.trim(), usedNames),
          },
        ),
        (value) => {
          name = value.trim();
        },
      );
    },
  ]);
  if (!done || picked === undefined) return undefined;
  return picked === ADDRESS
    ? { kind: 'url', name, ...draft }
    : { kind: 'cluster', name, context: picked.name, namespace, kubeconfig: kube.kubeconfig };
}

/** If there is no default kubeconfig, the user can choose another file or a URL. */
async function defaultKube(cli: Cli): Promise<Kube> {
  try {
    return {
      kubeconfig: undefined,
      contexts: await withProgress('Reading the kubeconfig', ({ signal }) => kubeContexts(cli, undefined, signal)),
    };
  } catch (error) {
    if (StudioError.is(error, 'cancelled') || !StudioError.is(error)) throw error;
    return { kubeconfig: undefined, contexts: [], problem: error.message };
  }
}

async function pickContext(
  { contexts, problem }: Kube,
  step: number,
  steps: number,
): Promise<Answer<KubeContext | typeof ADDRESS> | typeof OTHER> {
  const choices: Choice<KubeContext | typeof OTHER | typeof ADDRESS>[] = contexts.map((value) => ({
    label: value.name,
    icon: 'server-environment',
    value,
    description: [
      value.cluster === value.name ? '' : `cluster ${value.cluster}`,
      value.namespace === undefined ? '' : `namespace ${value.namespace}`,
      value.current ? 'current' : '',
    ]
      .filter((part) => part !== '')
      .join(' · '),
  }));
  const current = contexts.findIndex((each) => each.current);
  return pickOne(
    { title: TITLE, step, steps },
    [
      ...choices,
      { label: 'Another Kubeconfig…', icon: 'folder-opened', value: OTHER },
      { label: 'Server URL…', description: 'an existing rollout server', icon: 'globe', value: ADDRESS },
    ],
    {
      placeholder:
        contexts.length === 0
          ? (problem ?? 'The kubeconfig has no contexts')
          : 'Select a kubeconfig context or a server URL',
      active: Math.max(0, current),
    },
  );
}

/** Returns undefined if the user cancels. */
async function pickKubeconfig(cli: Cli): Promise<Kube | undefined> {
  const [file] =
    (await vscode.window.showOpenDialog({ title: 'Kubeconfig', openLabel: 'Use', canSelectMany: false })) ?? [];
  if (file === undefined) return undefined;
  return { kubeconfig: file.fsPath, contexts: await kubeContexts(cli, file.fsPath) };
}

/** Derives an unused target name from the context's name. */
function unusedName(context: string, usedNames: readonly string[]): string {
  const base = context
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 40);
  const names = [base, ...usedNames.map((_, index) => `${base}-${index + 2}`)];
  return names.find((each) => nameProblem(each, usedNames) === undefined) ?? '';
}

function nameProblem(text: string, usedNames: readonly string[]): string | undefined {
  if (usedNames.includes(text)) return 'A target with this name already exists.';
  try {
    checkTargetName(text);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

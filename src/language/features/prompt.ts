/**
 * Shows the number of tokens of a rendered prompt after the first line of a prompt file and after `prompt:` of an
 * agent.
 */

import { type InlayHint, InlayHintKind, type Range } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { fillPrompt, isPromptPath } from '../../config/prompt.ts';
import { endpointRefs } from '../diagnostics/served.ts';
import { estimateTokens } from '../prompts/tokenEstimate.ts';
import type { EndpointRef } from '../workspace/facts.ts';
import { datasetsFor, referencedFiles, referencingFiles } from '../workspace/relations.ts';
import type { Workspace } from '../workspace.ts';

export async function inlayHints(workspace: Workspace, path: string, { start, end }: Range): Promise<InlayHint[]> {
  const found = await promptOf(workspace, path);
  if (found === undefined || found.line < start.line || found.line > end.line) return [];
  const lines = await workspace.lines(path);
  const rendered = await renderPrompt(workspace, path, found.text);
  const target = await modelOf(workspace, found.agent);
  const exactCount = target === undefined ? undefined : workspace.facts.tokens(target.ref, target.model, rendered.text);
  const count = exactCount ?? estimateTokens(rendered.text);
  return [
    {
      position: { line: found.line, character: lines?.line(found.line).length ?? 0 },
      label: `${exactCount === undefined ? '≈ ' : ''}${plural(count, 'token')}`,
      kind: InlayHintKind.Parameter,
      paddingLeft: true,
      tooltip: [
        exactCount === undefined
          ? 'Estimated, because no endpoint was queried or it does not count tokens.'
          : `Counted by the tokenizer of ${target?.model ?? 'the model'}.`,
        rendered.task === undefined ? 'For the prompt as written.' : `For the prompt with task ${rendered.task}.`,
      ].join(' '),
    },
  ];
}

interface Prompt {
  readonly text: string;
  /** Zero-based line after which to show the number. */
  readonly line: number;
  /** The agent of the prompt. */
  readonly agent: string;
}

async function promptOf(workspace: Workspace, path: string): Promise<Prompt | undefined> {
  const kind = fileKind(path);
  if (kind === undefined) {
    const [agent] = await referencingFiles(workspace, path, 'agent');
    const text = agent === undefined ? undefined : await workspace.text(path);
    return agent === undefined || text === undefined || text.trim() === '' ? undefined : { text, line: 0, agent };
  }
  if (kind !== 'agent') return undefined;
  const parsed = await workspace.parsed(path);
  const written = isJsonObject(parsed?.value) ? parsed.value['prompt'] : undefined;
  if (parsed === undefined || typeof written !== 'string') return undefined;
  const [file] = isPromptPath(written) ? await referencedFiles(workspace, path, 'prompt') : [];
  const text = isPromptPath(written) ? (file === undefined ? undefined : await workspace.text(file)) : written;
  const key = parsed.keyRange(['prompt']);
  return text === undefined || text.trim() === '' || key === undefined
    ? undefined
    : { text, line: key.line - 1, agent: path };
}

/** Renders the prompt with the first suitable task. */
async function renderPrompt(
  workspace: Workspace,
  path: string,
  prompt: string,
): Promise<{ readonly text: string; readonly task?: string }> {
  for (const { tasks } of await datasetsFor(workspace, path)) {
    for (const task of tasks) {
      const text = fillPrompt(prompt, task);
      if (text !== undefined) return text === prompt ? { text } : { text, task: task.id };
    }
  }
  return { text: prompt };
}

async function modelOf(
  workspace: Workspace,
  agent: string,
): Promise<{ readonly ref: EndpointRef; readonly model: string } | undefined> {
  const value = (await workspace.parsed(agent))?.value;
  const model = isJsonObject(value) && isJsonObject(value['model']) ? value['model'] : {};
  const [ref] = endpointRefs(model);
  const { name } = model;
  return ref === undefined || typeof name !== 'string' ? undefined : { ref, model: name };
}

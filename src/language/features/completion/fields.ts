import { CompletionItemKind } from 'vscode-languageserver-types';
import { taskField } from '../../../config/prompt.ts';
import { datasetsFor } from '../../workspace/relations.ts';
import type { Workspace } from '../../workspace.ts';
import type { Suggestion } from './names.ts';

const EXAMPLE = 80;

/**
 * Suggests fields for `{{task.…}}` in a prompt: the fields of its datasets, or without datasets, the standard fields.
 */
export async function fieldSuggestions(workspace: Workspace, path: string): Promise<Suggestion[]> {
  const heads = await datasetsFor(workspace, path);
  if (heads.length === 0) return ['question', 'id'].map((name) => ({ name, kind: CompletionItemKind.Field }));
  const suggestions = new Map<string, Suggestion>();
  for (const { fields, tasks } of heads) {
    for (const name of fields) {
      const example = tasks.map((task) => taskField(task, name)).find((value) => value !== undefined);
      const text = typeof example === 'string' ? example : example === undefined ? '' : JSON.stringify(example);
      suggestions.set(name, {
        name,
        kind: CompletionItemKind.Field,
        ...(text === '' ? {} : { detail: text.length > EXAMPLE ? `${text.slice(0, EXAMPLE)}…` : text }),
      });
    }
  }
  return [...suggestions.values()];
}

/** Reads a scenario of Agent-World for the lint. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { errorText } from '../../common/errors.ts';
import { hashOf } from '../../common/hash.ts';
import { jsonOffset, lineAndColumn, offsetOf } from '../../common/jsonOffset.ts';
import type { Finding } from '../../common/worldHealth.ts';
import { agentWorldCheckpoint, agentWorldQuestions } from '../../formats/agentWorld.ts';
import type { Where } from '../../worlds/lint/analysis.ts';
import type { LintSource } from '../../worlds/lint/source.ts';
import { diskFiles } from '../disk.ts';
import { type AgentWorldFolder, BETWEEN_TOOLS } from './agentWorldFolder.ts';

interface Document {
  /** Relative to the folder, with `/`. */
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
}

/** Reads a scenario. */
export async function agentWorldLintSource(folder: AgentWorldFolder, scenario: string): Promise<LintSource> {
  const findings: Finding[] = [];
  const documents = new Map<string, Document>();
  const read = async (part: string, file: string): Promise<unknown> => {
    const place = { file: file.split(path.sep).join('/'), line: 1, column: 1 };
    try {
      const text = await diskFiles(folder.folder).readText(file);
      const value: unknown = JSON.parse(text);
      documents.set(part, { file: place.file, text, value });
      return value;
    } catch (error) {
      const hint = 'Download the file again.';
      findings.push({ kind: 'unreadable', severity: 'error', message: errorText(error), hint, place });
      return undefined;
    }
  };
  const files = folder.files(scenario);
  const checkpoint = agentWorldCheckpoint.safeParse(await read('tool', files.checkpoint));
  const tools = checkpoint.data?.data.ToolDesignAgent.tool_schemas ?? [];
  const hasQuestions = existsSync(path.join(folder.folder, files.questions));
  const questions = hasQuestions ? agentWorldQuestions.safeParse(await read('questions', files.questions)) : undefined;
  if (questions === undefined)
    findings.push({
      ...{ kind: 'missing_part', severity: 'warning', message: `there are no tasks for ${scenario}` },
      ...{ hint: 'Write tasks, or leave this scenario out.' },
      place: { file: files.checkpoint.split(path.sep).join('/'), line: 1, column: 1 },
    });
  const collections: Record<string, unknown[]> = {};
  for (const file of files.collections) {
    const name = path.basename(file);
    const value = await read(`collection/${name}`, file);
    if (Array.isArray(value)) collections[name] = value;
    else if (value !== undefined)
      findings.push({
        ...{ kind: 'unreadable', severity: 'error', message: `${name} is not an array of records` },
        ...{ hint: 'Write its records as a JSON array.' },
        place: { file: file.split(path.sep).join('/'), line: 1, column: 1 },
      });
  }
  const request = {
    format: 'agent-world',
    tools,
    collections,
    questions: questions?.data?.tasks.map(({ task, grading_rubric: rubric }) => ({
      task,
      judged: (rubric?.success_criteria.length ?? 0) > 0,
      chain: rubric?.verified_tool_chain.map(({ tool }) => tool ?? null).filter((tool) => tool !== null) ?? [],
    })),
  };
  const place: LintSource['place'] = (where) => placeOf(documents, tools, where);
  return {
    scenario,
    request: { ...request, questions: request.questions ?? [] },
    hash: hashOf([request, ...findings.map(({ message }) => message)]),
    findings,
    verifiers: [],
    place,
    codePlace: (_line, name) => {
      const tool = Math.max(
        0,
        tools.findIndex((each) => each.name === name),
      );
      return place({ part: 'tool', path: ['data', 'ToolDesignAgent', 'tool_schemas', tool, 'implementation'], tool });
    },
    verifierPlace: ({ task }) => place({ part: 'questions', path: ['tasks', task] }),
  };
}

function placeOf(
  documents: ReadonlyMap<string, Document>,
  tools: readonly { readonly implementation: string }[],
  { part, path: at, line, column, tool, collection }: Where,
): Pick<Finding, 'place' | 'source'> {
  const document = documents.get(collection === undefined ? part : `collection/${collection}`);
  if (document === undefined) return { place: { file: '', line: 1, column: 1 } };
  const written = tool === undefined ? undefined : tools[tool]?.implementation;
  const within = line === undefined || written === undefined ? undefined : offsetOf(written, line, column ?? 1);
  const place = { file: document.file, ...lineAndColumn(document.text, jsonOffset(document.text, at, within) ?? 0) };
  if (tool === undefined || written === undefined) return { place };
  // As `part('code')` prints them.
  const before = tools
    .slice(0, tool)
    .map(({ implementation }) => `${implementation.trim()}${BETWEEN_TOOLS}`)
    .join('');
  const trimmed = written.slice(0, written.length - written.trimStart().length).split('\n').length - 1;
  const first = before.split('\n').length - trimmed;
  return { place, source: { part: 'code', line: Math.max(1, first - 1 + (line ?? 1)), column: column ?? 1 } };
}

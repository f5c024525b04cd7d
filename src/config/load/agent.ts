/** Checks of an agent file beyond its schema: the files it names, its answer rule, contradicting limits. */

import { type AgentFile, agentFile } from '../schema/agentFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { checkModel } from './model.ts';
import { checkPattern } from './pattern.ts';
import type { Mention, PromptText, Reading } from './reading.ts';
import { type LoadedTeam, readTeam, worksItself } from './team.ts';
import { checkTools } from './tools.ts';

export interface LoadedAgent {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly file: AgentFile;
  /** Undefined for a team whose members do all the work. */
  readonly prompt: PromptText | undefined;
  readonly team: LoadedTeam | undefined;
}

/** The parts of an agent that could be read, even if the file has problems. */
export interface AgentParts {
  readonly parsed: ParsedFile;
  readonly value: Partial<AgentFile>;
  readonly prompt: PromptText | undefined;
  /** Members, if the agent is a team. */
  readonly members: readonly AgentParts[];
  /** Undefined if the file has errors. */
  readonly agent: LoadedAgent | undefined;
}

/** Reads an agent file. `above`: for a member of a team, the files that lead to it. */
export async function readAgent(
  reading: Reading,
  path: string,
  by?: Mention,
  above: readonly string[] = [],
): Promise<AgentParts | undefined> {
  const parsed = await reading.parse(path, by);
  if (parsed === undefined) return undefined;
  const { value, complete } = reading.check(parsed, agentFile);
  if (parsed.has(['program'])) {
    reading.report(
      parsed,
      ['program'],
      {
        code: 'not_yet',
        message: '`program` is not available yet',
        hint: 'Remove it and use `prompt`, `model`, and `tools`.',
      },
      'key',
    );
  }
  const works = worksItself(value);
  // While `team` is invalid, it is unknown whether this agent works itself.
  if (works && !(parsed.has(['team']) && value.team === undefined)) checkWorker(reading, parsed, value);
  if (value.model !== undefined) checkModel(reading, parsed, ['model'], value.model);
  const prompt = value.prompt === undefined ? undefined : await reading.prompt(parsed, ['prompt'], value.prompt);
  if (value.tools !== undefined) await checkTools(reading, parsed, ['tools'], value.tools);
  if (value.answer !== undefined) checkAnswer(reading, parsed, value.answer);
  checkLimits(reading, parsed, value);
  const { team } = value;
  const line = [...above, path];
  const teamParts =
    team === undefined
      ? undefined
      : await readTeam(reading, parsed, { ...value, team }, line, (member, mention) =>
          readAgent(reading, member, mention, line),
        );
  const whole = (!works || prompt !== undefined) && (team === undefined || teamParts?.team !== undefined);
  const agent =
    complete === undefined || !whole
      ? undefined
      : { path, parsed, file: withinItself(parsed, complete), prompt, team: teamParts?.team };
  return { parsed, value, prompt, members: teamParts?.members ?? [], agent };
}

/** Checks that an agent that works itself has a prompt and a model. */
function checkWorker(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  if (!parsed.has(['prompt']) && !parsed.has(['program'])) {
    reading.report(parsed, [], {
      code: 'missing',
      message: '`prompt` is missing',
      hint:
        value.team === undefined
          ? 'Add `prompt: prompts/desk.md`, or write the prompt inline.'
          : 'Add the prompt of the leader: `prompt: prompts/desk.md`, or write it inline.',
      fixes: [{ do: 'insert', path: [], key: 'prompt', value: 'prompts/desk.md' }],
    });
  }
  if (!parsed.has(['model']) && !parsed.has(['program'])) {
    reading.report(parsed, [], {
      code: 'missing',
      message: '`model` is missing',
      hint: 'Add `model:` with `endpoint` and `name`.',
      fixes: [
        { do: 'insert', path: [], key: 'model', value: '{ endpoint: http://localhost:8000/v1, name: Qwen/Qwen3-32B }' },
      ],
    });
  }
}

/** Returns an agent and all members of its team, including nested ones. */
export function withMembers(parts: AgentParts): AgentParts[] {
  return [parts, ...parts.members.flatMap(withMembers)];
}

function checkAnswer(reading: Reading, parsed: ParsedFile, answer: AgentFile['answer']): void {
  if (answer === 'last_message') return;
  if (answer.tag !== undefined && !/^[A-Za-z_][\w.-]*$/.test(answer.tag)) {
    reading.report(parsed, ['answer', 'tag'], {
      code: 'value',
      message: `\`${answer.tag}\` is not a valid tag name`,
      hint: 'Write the name without < and >: `answer: { tag: answer }`.',
    });
  }
  if (answer.regex !== undefined) checkPattern(reading, parsed, ['answer', 'regex'], answer.regex, '');
}

function checkLimits(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  const { limits, context, model } = value;
  const conflict = (at: Path, message: string, hint: string): void =>
    reading.report(parsed, at, { code: 'conflict', message, hint });
  if (limits === undefined) return;
  if (parsed.has(['limits', 'tool_seconds']) && limits.tool_seconds > limits.seconds) {
    conflict(
      ['limits', 'tool_seconds'],
      `a tool may run for ${limits.tool_seconds} s, but the whole rollout only for ${limits.seconds} s`,
      'Increase `seconds` or decrease `tool_seconds`.',
    );
  }
  if (
    context !== undefined &&
    parsed.has(['context', 'tool_result_tokens']) &&
    context.tool_result_tokens > limits.tokens
  ) {
    conflict(
      ['context', 'tool_result_tokens'],
      `a tool result may have ${context.tool_result_tokens} tokens, but the whole rollout only ${limits.tokens}`,
      'Increase `limits.tokens` or decrease `tool_result_tokens`.',
    );
  }
  const maxTokens = model?.sampling.max_tokens;
  if (maxTokens !== undefined && maxTokens > limits.tokens) {
    conflict(
      ['model', 'sampling', 'max_tokens'],
      `a reply may have ${maxTokens} tokens, but the whole rollout only ${limits.tokens}`,
      'Increase `limits.tokens` or decrease `max_tokens`.',
    );
  }
}

/** Lowers the default `tool_seconds` to `seconds`, so that a default never contradicts the file. */
function withinItself(parsed: ParsedFile, file: AgentFile): AgentFile {
  if (parsed.has(['limits', 'tool_seconds']) || file.limits.tool_seconds <= file.limits.seconds) return file;
  return { ...file, limits: { ...file.limits, tool_seconds: file.limits.seconds } };
}

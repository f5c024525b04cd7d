/** What the schema cannot say of an agent file: its files, its answer rule, limits that contradict each other. */

import { basename } from '../paths.ts';
import { type AgentFile, agentFile } from '../schema/agentFile.ts';
import type { ToolEntry } from '../schema/toolEntry.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { found } from '../source/validate.ts';
import { checkModel } from './model.ts';
import type { Mention, PromptText, Reading } from './reading.ts';
import { type LoadedTeam, readTeam, worksItself } from './team.ts';

export const MODULE_ENDINGS = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx'] as const;

export interface LoadedAgent {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly file: AgentFile;
  /** Absent of a team whose members do all the work. */
  readonly prompt: PromptText | undefined;
  readonly team: LoadedTeam | undefined;
}

/** What could be read, also of a file with problems. */
export interface AgentParts {
  readonly parsed: ParsedFile;
  readonly value: Partial<AgentFile>;
  readonly prompt: PromptText | undefined;
  /** Of a team: its members. */
  readonly members: readonly AgentParts[];
  /** Absent when something is wrong with it. */
  readonly agent: LoadedAgent | undefined;
}

/** `above`: of a team's member, the files that lead to it. */
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
    reading.tell(
      parsed,
      ['program'],
      {
        code: 'not_yet',
        message: '`program` is not yet available',
        hint: 'Remove it; an agent of prompt, model and tools works.',
      },
      'key',
    );
  }
  const works = worksItself(value);
  // Of a team that is wrong nobody knows who works in it.
  if (works && !(parsed.has(['team']) && value.team === undefined)) checkWorker(reading, parsed, value);
  if (value.model !== undefined) checkModel(reading, parsed, ['model'], value.model);
  const prompt = value.prompt === undefined ? undefined : await reading.prompt(parsed, ['prompt'], value.prompt);
  if (value.tools !== undefined) await checkTools(reading, parsed, value.tools);
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

/** What an agent that works itself cannot do without. */
function checkWorker(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  if (!parsed.has(['prompt']) && !parsed.has(['program'])) {
    reading.tell(parsed, [], {
      code: 'missing',
      message: '`prompt` is missing',
      hint:
        value.team === undefined
          ? 'Add `prompt: prompts/desk.md`, or the text itself.'
          : 'Add the prompt of the leader: `prompt: prompts/desk.md`, or the text itself.',
      fixes: [{ do: 'insert', path: [], key: 'prompt', value: 'prompts/desk.md' }],
    });
  }
  if (!parsed.has(['model']) && !parsed.has(['program'])) {
    reading.tell(parsed, [], {
      code: 'missing',
      message: '`model` is missing',
      hint: 'Add `model:` with its `endpoint` and `name`.',
      fixes: [
        { do: 'insert', path: [], key: 'model', value: '{ endpoint: http://localhost:8000/v1, name: Qwen/Qwen3-32B }' },
      ],
    });
  }
}

/** An agent's file with those of all members below it. */
export function withMembers(parts: AgentParts): AgentParts[] {
  return [parts, ...parts.members.flatMap(withMembers)];
}

async function checkTools(reading: Reading, parsed: ParsedFile, tools: readonly ToolEntry[]): Promise<void> {
  const seen = new Map<string, number>();
  const once = (what: string, index: number, at: Path, hint: string): void => {
    const first = seen.get(what);
    if (first === undefined) seen.set(what, index);
    else reading.tell(parsed, at, { code: 'conflict', message: `${what} is named twice in \`tools\``, hint });
  };
  for (const [index, entry] of tools.entries()) {
    const at: Path = ['tools', index];
    if (entry.module !== undefined) {
      await reading.locate(parsed, [...at, 'module'], entry.module, MODULE_ENDINGS);
      once(`the module \`${entry.module}\``, index, [...at, 'module'], 'Keep one of the two.');
    } else if (entry.mcp !== undefined) {
      const { url } = entry.mcp;
      if (url !== undefined && !url.includes('${env:') && !/^https?:\/\/[^\s/]+/.test(url)) {
        reading.tell(parsed, [...at, 'mcp', 'url'], {
          code: 'value',
          message: `\`tools[${index}].mcp.url\` must be a URL, not ${found(url)}`,
          hint: 'Write for example `http://localhost:3000/mcp`.',
        });
      }
      once(`an MCP server \`${mcpName(entry)}\``, index, at, 'Give each a `name:` of its own.');
    }
    entry.builtin?.forEach((name, position) =>
      once(`the built-in \`${name}\``, index, [...at, 'builtin', position], 'Keep one of the two.'),
    );
  }
}

/** Programs that only start another one, which their first plain argument names. */
const RUNNERS = /^(npx|bunx|pnpx|uvx|uv|pipx|node|deno|bun|python3?|docker)(\.exe|\.cmd)?$/i;

/** The name an MCP server is shown under: told, or taken from its command or URL. */
export function mcpName(entry: ToolEntry): string {
  if (entry.name !== undefined) return entry.name;
  const { command, args = [], url, catalogued } = entry.mcp ?? {};
  if (catalogued !== undefined) return catalogued;
  if (url !== undefined) return /^https?:\/\/(?:[^@/]*@)?([^/?#]+)/.exec(url)?.[1] ?? 'mcp';
  const program = basename(command ?? '');
  const subject = RUNNERS.test(program)
    ? (args.find((arg) => !arg.startsWith('-') && arg !== 'run') ?? program)
    : program;
  const plain = basename(subject.replace(/(?<=.)@[\w.^~-]+$/, '')).replace(/\.(exe|cmd|[cm]?[jt]s|py)$/i, '');
  return plain === '' || plain.includes('${') ? 'mcp' : plain;
}

function checkAnswer(reading: Reading, parsed: ParsedFile, answer: AgentFile['answer']): void {
  if (answer === 'last_message') return;
  if (answer.tag !== undefined && !/^[A-Za-z_][\w.-]*$/.test(answer.tag)) {
    reading.tell(parsed, ['answer', 'tag'], {
      code: 'value',
      message: `\`${answer.tag}\` cannot be the name of a tag`,
      hint: 'Write the name alone, without < and >: `answer: { tag: answer }`.',
    });
  }
  if (answer.regex !== undefined) checkPattern(reading, parsed, ['answer', 'regex'], answer.regex, '');
}

/** Whether a pattern is a JavaScript regular expression. */
export function checkPattern(reading: Reading, parsed: ParsedFile, at: Path, pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags);
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    const what = said.replace(/^Invalid regular expression: /, '').replace(/^\/.*\/\w*: /s, '');
    reading.tell(parsed, at, {
      code: 'value',
      message: `this is not a regular expression: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
      hint:
        'Put a backslash before characters that stand for themselves; in YAML single quotes keep backslashes as ' +
        'they are.',
    });
  }
}

function checkLimits(reading: Reading, parsed: ParsedFile, value: Partial<AgentFile>): void {
  const { limits, context, model } = value;
  const conflict = (at: Path, message: string, hint: string): void =>
    reading.tell(parsed, at, { code: 'conflict', message, hint });
  if (limits === undefined) return;
  if (parsed.has(['limits', 'tool_seconds']) && limits.tool_seconds > limits.seconds) {
    conflict(
      ['limits', 'tool_seconds'],
      `a tool may take ${limits.tool_seconds} s, the whole rollout only ${limits.seconds} s`,
      'Raise `seconds` or lower `tool_seconds`.',
    );
  }
  if (
    context !== undefined &&
    parsed.has(['context', 'tool_result_tokens']) &&
    context.tool_result_tokens > limits.tokens
  ) {
    conflict(
      ['context', 'tool_result_tokens'],
      `one tool result may have ${context.tool_result_tokens} tokens, the whole rollout only ${limits.tokens}`,
      'Raise `limits.tokens` or lower `tool_result_tokens`.',
    );
  }
  const most = model?.sampling.max_tokens;
  if (most !== undefined && most > limits.tokens) {
    conflict(
      ['model', 'sampling', 'max_tokens'],
      `one reply may have ${most} tokens, the whole rollout only ${limits.tokens}`,
      'Raise `limits.tokens` or lower `max_tokens`.',
    );
  }
}

/** A default never contradicts what was written: no tool gets longer than its rollout. */
function withinItself(parsed: ParsedFile, file: AgentFile): AgentFile {
  if (parsed.has(['limits', 'tool_seconds']) || file.limits.tool_seconds <= file.limits.seconds) return file;
  return { ...file, limits: { ...file.limits, tool_seconds: file.limits.seconds } };
}

/** Reads the agents from AWorld files, in any of the formats that AWorld accepts. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { type Path, parseFile } from '../source/parse.ts';
import { hasErrors, problemsError } from '../source/problem.ts';
import { swarmAgents } from './swarm.ts';
import { plainText, textOf } from './texts.ts';

/** An agent with all its fields. */
export interface SourceAgent {
  readonly name: string;
  readonly fields: JsonObject;
  /** Path to the agent in its file. */
  readonly at: Path;
}

interface Source {
  readonly agents: readonly SourceAgent[];
  readonly swarm: JsonObject | undefined;
  /** `mcp_config` of the whole file. */
  readonly servers: Json | undefined;
  readonly steps: Json | undefined;
  /** `file:line:column`. */
  place(at: Path): string;
  /** Paths outside the agents that are not converted. */
  readonly left: readonly Path[];
}

const FRONT_MATTER = /^---\r?\n([^]*?)\r?\n---\r?\n?/;
/** Top-level keys that are converted. */
const READ = new Set(['vars', 'agents', 'swarm', 'mcp_config', 'task_config']);
const file = z.looseObject({
  vars: z.record(z.string(), z.unknown()).optional(),
  agents: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  swarm: z.unknown().optional(),
  mcp_config: z.unknown().optional(),
  mcpServers: z.unknown().optional(),
  task_config: z.unknown().optional(),
});

/**
 * Reads a file of agents: `agents:` as a mapping (agents YAML) or a list (task and swarm YAML), or one agent as
 * Markdown with front matter. `${NAME}` becomes `${env:NAME}`; `${vars.X}` becomes the value of the variable. Throws
 * StudioError `config`.
 */
export function readSource(name: string, text: string): Source {
  return /\.(md|markdown)$/i.test(name) ? readMarkdown(name, text) : readYaml(name, text);
}

function readMarkdown(name: string, text: string): Source {
  const front = FRONT_MATTER.exec(text);
  if (front === null)
    throw new StudioError('config', `${name} has no front matter that names the agent.`, {
      hint: 'Start the file with `---`, `name: …`, and `---`, followed by the prompt.',
    });
  const { value, place } = yaml(name, front[1] ?? '', 1);
  const fields = withVariables(name, value);
  const base = name.replace(/^.*[/\\]/, '').replace(/\.\w+$/, '');
  return {
    agents: [
      {
        name: textOf(fields['name']) ?? base,
        fields: { ...fields, system_prompt: text.slice(front[0].length).trim() },
        at: [],
      },
    ],
    swarm: undefined,
    servers: undefined,
    steps: undefined,
    place,
    left: [],
  };
}

function readYaml(name: string, text: string): Source {
  const { value: source, place } = yaml(name, text, 0);
  const value = withVariables(name, source);
  const read = file.safeParse(value);
  const swarmAlone = isJsonObject(value['swarm']) && value['agents'] === undefined ? value['swarm'] : undefined;
  if (!read.success || (read.data.agents === undefined && swarmAlone === undefined)) {
    const servers = isJsonObject(value['mcpServers']);
    throw new StudioError(
      'config',
      servers ? `${name} contains MCP servers but no agents.` : `${name} contains no agents.`,
      {
        hint: servers
          ? `Add them to one of your agent files: rollout tool add AGENT --from ${name}`
          : 'Choose an AWorld agents, task, or swarm file (with `agents:`), or a Markdown agent.',
      },
    );
  }
  const {
    agents,
    swarm,
    mcp_config: servers,
    task_config: config,
  } = read.data as { agents?: Json; swarm?: Json; mcp_config?: Json; task_config?: Json };
  return {
    // In a file with only a swarm, a program creates the agents.
    agents:
      swarmAlone !== undefined
        ? swarmAgents(swarmAlone).map((one) => ({ name: one, fields: {}, at: ['swarm'] }))
        : Array.isArray(agents)
          ? agents.map((one, index) => listed(one, index))
          : Object.entries(isJsonObject(agents) ? agents : {}).map(([key, one]) => ({
              name: key,
              fields: isJsonObject(one) ? one : {},
              at: ['agents', key],
            })),
    swarm: isJsonObject(swarm) ? swarm : undefined,
    servers,
    steps: isJsonObject(config) ? config['max_steps'] : undefined,
    place,
    left: [
      ...Object.keys(value)
        .filter((key) => !READ.has(key))
        .map((key) => [key]),
      ...(isJsonObject(config)
        ? Object.keys(config)
            .filter((key) => key !== 'max_steps')
            .map((key) => ['task_config', key])
        : []),
    ],
  };
}

function listed(one: Json, index: number): SourceAgent {
  const fields = isJsonObject(one) ? one : {};
  return {
    name:
      (typeof one === 'string' ? one : undefined) ??
      textOf(fields['id']) ??
      textOf(fields['name']) ??
      `agent-${index + 1}`,
    fields,
    at: ['agents', index],
  };
}

function yaml(
  name: string,
  text: string,
  skipped: number,
): { readonly value: JsonObject; readonly place: Source['place'] } {
  const parsed = parseFile(name, '\n'.repeat(skipped) + text);
  if (hasErrors(parsed.problems)) throw problemsError(parsed.problems);
  if (!isJsonObject(parsed.value))
    throw new StudioError('config', `${name} is not a mapping of keys.`, {
      hint: 'Choose an AWorld agents, task, or swarm file, or a Markdown agent.',
    });
  return {
    value: parsed.value,
    place: (at) => {
      const { line, column } = parsed.keyRange(at) ?? parsed.valueRange(at);
      return `${name}:${line}:${column}`;
    },
  };
}

/** Replaces variables. A string that consists only of a variable takes the type of its value. */
function withVariables(name: string, value: JsonObject): JsonObject {
  const vars = isJsonObject(value['vars']) ? value['vars'] : {};
  const variable = (key: string): Json => {
    const found = vars[key];
    if (found === undefined)
      throw new StudioError('config', `${name}: \`\${vars.${key}}\` is used, but \`vars\` has no \`${key}\`.`, {
        hint: `Add ${key} to \`vars\`.`,
      });
    return found;
  };
  const walk = (one: Json): Json => {
    if (Array.isArray(one)) return one.map(walk);
    if (isJsonObject(one)) return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, walk(member)]));
    if (typeof one !== 'string') return one;
    const whole = /^\$\{vars\.(\w+)\}$/.exec(one);
    if (whole !== null) return environment(variable(whole[1] ?? ''));
    return environment(one.replaceAll(/\$\{vars\.(\w+)\}/g, (_, key: string) => plainText(variable(key))));
  };
  return walk(Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'vars'))) as JsonObject;
}

function environment(value: Json): Json {
  return typeof value === 'string' ? value.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, '${env:$1}') : value;
}

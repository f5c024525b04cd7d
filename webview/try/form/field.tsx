/** The fields of a form: label, description, control, and problem of an argument and of the values inside it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../src/common/json.ts';
import { valueText } from '../../../src/trace/text/values.ts';
import { Button } from '../../components/controls.tsx';
import { focusOn, idOf } from './focus.ts';
import { Area, Choice, type ControlAttributes, JsonArea, NOT_SET, NumberInput } from './inputs.tsx';
import { describe, type FieldDescription, type Shape } from './shape.ts';
import {
  asJson,
  boundsText,
  extraMembers,
  type FormProblem,
  type FormValue,
  firstValue,
  fits,
  InvalidText,
  isList,
  isMembers,
  nearestOption,
  type Path,
} from './value.ts';

interface FormContext {
  readonly root: JsonObject;
  readonly problems: readonly FormProblem[];
  /** Called when the focus leaves a field. */
  readonly onTouch: (path: Path) => void;
}

interface FieldProps {
  readonly context: FormContext;
  readonly path: Path;
  /** Name of the argument, or number of the item. */
  readonly name: string;
  readonly schema: Json;
  readonly required: boolean;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
  /** Buttons after the name. */
  readonly children?: ComponentChildren;
}

function Field(props: FieldProps) {
  const { context, path, name, schema: source, required, value, onChange, children } = props;
  const described = describe(source, context.root);
  const { schema, shape } = described;
  const id = idOf(path);
  const problem = context.problems.find((one) => isSamePath(one.path, path));
  const description = typeof schema['description'] === 'string' ? schema['description'] : undefined;
  const hint = [
    boundsText(schema),
    ...(schema['default'] === undefined ? [] : [`default ${valueText(schema['default'])}`]),
  ]
    .filter((text) => text !== '')
    .join(' · ');
  const group = shape.kind === 'object' || shape.kind === 'list' || shape.kind === 'variants';
  const item = typeof path.at(-1) === 'number'; // always required
  const label = (
    <>
      {name}
      {required && !item && (
        <span class="field-required" title="required">
          <span aria-hidden="true"> *</span>
          <span class="only-read"> required</span>
        </span>
      )}
    </>
  );
  const descriptions = [
    ...(description === undefined ? [] : [`${id}-description`]),
    ...(hint === '' ? [] : [`${id}-hint`]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
  ].join(' ');
  const control = {
    id,
    'aria-describedby': descriptions === '' ? undefined : descriptions,
    'aria-invalid': problem !== undefined,
    'aria-required': required,
  };
  const hasControl = value !== undefined || !group || shape.kind === 'variants';
  return (
    <div
      class={`field is-${shape.kind}${problem === undefined ? '' : ' is-wrong'}`}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) context.onTouch(path);
      }}
      {...(group ? { role: 'group', 'aria-labelledby': `${id}-label` } : {})}
    >
      <div class="field-head">
        {group ? (
          <span class="field-name" id={`${id}-label`}>
            {label}
          </span>
        ) : (
          <label class="field-name" for={id}>
            {label}
          </label>
        )}
        {hint !== '' && (
          <span class="field-hint dim" id={`${id}-hint`}>
            {hint}
          </span>
        )}
        <span class="grow" />
        {group && shape.kind !== 'variants' && value === undefined && (
          <span id={`${id}-add`}>
            <Button kind="secondary" label={`Set ${name}`} onClick={() => onChange(firstValue(source, context.root))} />
          </span>
        )}
        {group && shape.kind !== 'variants' && value !== undefined && !required && (
          <Button kind="icon" icon="close" label={`Clear ${name}`} onClick={() => onChange(undefined)} />
        )}
        {children}
      </div>
      {description !== undefined && (
        <p class="field-description dim" id={`${id}-description`}>
          {description}
        </p>
      )}
      {hasControl && <Control {...props} described={described} control={control} />}
      {problem !== undefined && (
        <p class="field-problem" id={`${id}-problem`}>
          {problem.text}
        </p>
      )}
    </div>
  );
}

function isSamePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}

interface ControlProps extends FieldProps {
  readonly described: FieldDescription;
  readonly control: ControlAttributes;
}

function Control(props: ControlProps) {
  const {
    described: { shape, schema },
    control,
    value,
    required,
    onChange,
  } = props;
  switch (shape.kind) {
    case 'text': {
      const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(asJson(value));
      const write = (next: string): void => onChange(next === '' && !required ? undefined : next);
      return shape.lines === 'one' ? (
        <input
          class="input"
          type="text"
          spellcheck={false}
          {...control}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
        />
      ) : (
        <Area control={control} text={text} minRows={1} onInput={write} />
      );
    }
    case 'number':
      return <NumberInput control={control} integer={shape.integer} value={value} onChange={onChange} />;
    case 'flag':
      return required ? (
        <input
          class="field-flag"
          type="checkbox"
          {...control}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      ) : (
        <Choice control={control} values={[true, false]} required={false} value={value} onChange={onChange} />
      );
    case 'enum':
      return <Choice control={control} values={shape.values} required={required} value={value} onChange={onChange} />;
    case 'null':
      return (
        <code class="dim" id={control.id}>
          null
        </code>
      );
    case 'variants':
      return <Variants {...props} shape={shape} />;
    case 'list':
      return <Items {...props} shape={shape} />;
    case 'object':
      return <Members {...props} shape={shape} />;
    case 'json':
      return (
        <JsonArea
          control={control}
          placeholder={typeof schema['type'] === 'string' ? `JSON ${schema['type']}` : 'JSON'}
          value={value}
          onChange={onChange}
        />
      );
  }
}

function Variants({
  context,
  path,
  name,
  described,
  required,
  value,
  onChange,
  control,
  shape,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'variants' }> }) {
  const { root } = context;
  const [chosen, setChosen] = useState<number>();
  const isKept = chosen !== undefined && fitsOption(shape, chosen, root, value);
  const at = value === undefined && chosen === undefined ? -1 : isKept ? chosen : nearestOption(described, root, value);
  const option = shape.options[at];
  const choose = (text: string): void => {
    const next = shape.options[Number(text)];
    setChosen(next === undefined ? undefined : Number(text));
    onChange(next === undefined ? undefined : firstValue(next.schema, root));
  };
  const inner = option === undefined ? undefined : describe(option.schema, root);
  return (
    <>
      <select
        class="input is-choice"
        id={control.id}
        aria-label={`Type of ${name}`}
        aria-invalid={control['aria-invalid']}
        value={option === undefined ? NOT_SET : String(at)}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {(!required || option === undefined) && <option value={NOT_SET}>Not set</option>}
        {shape.options.map((one, index) => (
          <option key={index} value={String(index)}>
            {one.name}
          </option>
        ))}
      </select>
      {option !== undefined && inner !== undefined && inner.shape.kind !== 'null' && (
        <Control
          key={at}
          context={context}
          path={path}
          name={name}
          schema={option.schema}
          required
          value={value}
          onChange={onChange}
          described={inner}
          control={{ ...control, id: `${control.id}-value`, 'aria-label': name }}
        />
      )}
    </>
  );
}

function fitsOption(
  shape: Extract<Shape, { kind: 'variants' }>,
  at: number,
  root: JsonObject,
  value: FormValue,
): boolean {
  const option = shape.options[at];
  if (option === undefined) return false;
  return value === undefined || value instanceof InvalidText || fits(describe(option.schema, root), value);
}

function Items({
  context,
  path,
  name,
  shape,
  value,
  onChange,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'list' }> }) {
  const items = isList(value) ? value : [];
  const move = (from: number, to: number): void => {
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    onChange(next);
    focusOn(`${idOf([...path, to])}-${to < from ? 'up' : 'down'}`);
  };
  return (
    <div class="field-items">
      {items.map((item, index) => (
        <Field
          key={index}
          context={context}
          path={[...path, index]}
          name={`${index + 1}`}
          schema={shape.items}
          required
          value={item}
          onChange={(next) => onChange(items.with(index, next))}
        >
          <span class="field-moves" id={`${idOf([...path, index])}-up`}>
            {index > 0 && (
              <Button
                kind="icon"
                icon="chevron-up"
                label={`Move ${name} ${index + 1} up`}
                onClick={() => move(index, index - 1)}
              />
            )}
          </span>
          <span class="field-moves" id={`${idOf([...path, index])}-down`}>
            {index < items.length - 1 && (
              <Button
                kind="icon"
                icon="chevron-down"
                label={`Move ${name} ${index + 1} down`}
                onClick={() => move(index, index + 1)}
              />
            )}
          </span>
          <Button
            kind="icon"
            icon="trash"
            label={`Remove ${name} ${index + 1}`}
            onClick={() => {
              onChange(items.toSpliced(index, 1));
              focusOn(`${idOf(path)}-add`);
            }}
          />
        </Field>
      ))}
      <div id={`${idOf(path)}-add`}>
        <Button
          kind="secondary"
          icon="add"
          label={`Add to ${name}`}
          onClick={() => {
            onChange([...items, firstValue(shape.items, context.root)]);
            focusOn(idOf([...path, items.length]));
          }}
        />
      </div>
    </div>
  );
}

function Members({
  context,
  path,
  described,
  shape,
  value,
  onChange,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'object' }> }) {
  const members = isMembers(value) ? value : {};
  return (
    <MemberFields
      context={context}
      path={path}
      described={described}
      members={members}
      shape={shape}
      onChange={onChange}
    />
  );
}

interface MemberFieldsProps {
  readonly context: FormContext;
  readonly path: Path;
  readonly described: FieldDescription;
  readonly shape: Extract<Shape, { kind: 'object' }>;
  readonly members: Readonly<Record<string, FormValue>>;
  readonly onChange: (members: Readonly<Record<string, FormValue>>) => void;
}

/** One field for each member of an object. */
export function MemberFields({ context, path, described, shape, members, onChange }: MemberFieldsProps) {
  const others = extraMembers(described, members);
  return (
    <div class="field-members">
      {shape.members.map(({ name, schema, required }) => (
        <Field
          key={name}
          context={context}
          path={[...path, name]}
          name={name}
          schema={schema}
          required={required}
          value={members[name]}
          onChange={(next) => onChange({ ...members, [name]: next })}
        />
      ))}
      {others.length > 0 && described.schema['additionalProperties'] !== false && (
        <p class="field-hint dim">Also set: {others.join(', ')}. Edit as JSON to change.</p>
      )}
    </div>
  );
}

/** A number that matters and the unit that does not. */
export function Quantity({ value, unit }: { readonly value: string; readonly unit: string }) {
  return (
    <span class="quantity">
      <b>{value}</b> <span class="dim">{unit}</span>
    </span>
  );
}

/** A prominent number with a dim unit. */
export function Quantity({ value, unit }: { readonly value: string; readonly unit: string }) {
  return (
    <span class="quantity">
      <b>{value}</b> <span class="dim">{unit}</span>
    </span>
  );
}

/** Buttons: one that is disabled says why. */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: "main" | "danger" | "plain" | undefined;
  readonly isSmall?: boolean;
  /** Why it is disabled. */
  readonly refusal?: string | undefined;
  readonly isBusy?: boolean;
  readonly type?: "button" | "submit";
  /** Label for users who cannot see its context. */
  readonly label?: string | undefined;
  readonly isPressed?: boolean;
  readonly onPress?: () => void;
}

export function Button(props: ButtonProps): JSX.Element {
  const {
    children,
    kind,
    isSmall = false,
    refusal,
    isBusy = false,
    type = "button",
    label,
    isPressed,
    onPress,
  } = props;
  const reasonId = useId();
  const isOff = refusal !== undefined || isBusy;
  const classes = ["button", kind === undefined ? "" : `is-${kind}`, isSmall ? "is-small" : ""]
    .filter(Boolean)
    .join(" ");
  return (
    <>
      <button
        type={isOff ? "button" : type}
        class={classes}
        aria-label={label}
        aria-pressed={isPressed}
        aria-disabled={isOff || undefined}
        aria-describedby={refusal === undefined ? undefined : reasonId}
        title={refusal}
        onClick={() => {
          if (!isOff) onPress?.();
        }}
      >
        {children}
      </button>
      {refusal !== undefined && (
        <span id={reasonId} class="only-heard">
          {refusal}
        </span>
      )}
    </>
  );
}

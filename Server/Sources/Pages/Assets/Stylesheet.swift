extension PageAssets {
    /// The stylesheet of all pages. The stylesheet names each colour once for light and once for dark.
    ///
    /// Each pair of text and ground has a contrast of at least 4.5 to 1 (WCAG 2.2, 1.4.3). Each border that carries
    /// meaning has a contrast of at least 3 to 1 (1.4.11).
    static let stylesheetText = """
        :root {
          color-scheme: light dark;
          --ground: #f3f5f8; --surface: #ffffff; --raised: #f8fafc; --ink: #121c28; --soft: #4c5b6b; --line: #d8dfe7;
          --edge: #748496; --accent: #0b5a72; --accent-strong: #08465a; --on-accent: #ffffff; --good: #14663a;
          --good-ground: #e6f4ec; --bad: #9c2328; --bad-ground: #fbeaea; --busy: #7a4a00; --busy-ground: #fcf2e0;
          --calm-ground: #e6f0f4; --shadow: 0 1px 2px rgb(16 32 48 / 6%), 0 12px 32px -12px rgb(16 32 48 / 18%);
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #0d141b; --surface: #151f29; --raised: #1b2733; --ink: #e9eff5; --soft: #a9b7c5; --line: #2a3846;
            --edge: #7b8c9d; --accent: #79cbe2; --accent-strong: #a3dcec; --on-accent: #05222c; --good: #7ddaa5;
            --good-ground: #12301f; --bad: #ffa39d; --bad-ground: #3b191b; --busy: #f2c47a; --busy-ground: #36280f;
            --calm-ground: #12303a; --shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 16px 40px -16px rgb(0 0 0 / 60%);
          }
        }
        *, *::before, *::after { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body {
          margin: 0; min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column;
          background: var(--ground); color: var(--ink);
          font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
        }
        h1, h2, p, ol, dl, dd, pre, form { margin: 0; padding: 0; }
        h1 { font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2rem); line-height: 1.2; letter-spacing: -.018em; font-weight: 650; }
        h2 { font-size: 1rem; line-height: 1.4; font-weight: 650; }
        a { color: var(--accent); text-underline-offset: .18em; }
        a:hover { color: var(--accent-strong); }
        bdi { overflow-wrap: anywhere; }
        [hidden] { display: none !important; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 6px; }
        main:focus { outline: none; }
        .skip {
          position: absolute; inset-inline-start: 1rem; top: -6rem; padding: .6rem 1rem; z-index: 1;
          background: var(--surface); border-radius: 8px; box-shadow: var(--shadow);
        }
        .skip:focus { top: 1rem; }
        .top { padding: 1.25rem clamp(1rem, 4vw, 2.5rem); }
        .brand {
          display: inline-flex; align-items: center; gap: .65rem; font-weight: 650; letter-spacing: -.01em; font-size: 1.05rem;
        }
        .brand svg { width: 2rem; height: 2rem; flex: none; }
        .mark-ground { fill: var(--accent); }
        .mark-line { stroke: var(--on-accent); }
        main {
          flex: 1; display: flex; align-items: flex-start; justify-content: center;
          padding: clamp(.25rem, 3vh, 2.5rem) clamp(1rem, 4vw, 2.5rem) 2rem;
        }
        .foot { padding: 1.25rem clamp(1rem, 4vw, 2.5rem) 1.75rem; color: var(--soft); font-size: .9rem; text-align: center; }
        .foot strong { color: var(--ink); font-weight: 600; overflow-wrap: anywhere; }
        .card {
          width: 100%; background: var(--surface); border: 1px solid var(--line); border-radius: 20px;
          box-shadow: var(--shadow); padding: clamp(1.25rem, 3.6vw, 2.75rem);
        }
        .lead { color: var(--soft); margin-top: .6rem; max-width: 34em; }
        .small { font-size: .9rem; color: var(--soft); }

        .button, button {
          display: inline-flex; align-items: center; justify-content: center; gap: .5rem; min-height: 3rem;
          padding: .65rem 1.35rem; border-radius: 12px; border: 1px solid transparent; font: inherit; font-weight: 600;
          background: var(--accent); color: var(--on-accent); text-decoration: none; cursor: pointer; text-align: center;
        }
        .button:hover, button:hover { background: var(--accent-strong); color: var(--on-accent); }
        .quiet, button.quiet { background: transparent; color: var(--accent); border-color: var(--edge); }
        .quiet:hover, button.quiet:hover { background: var(--raised); color: var(--accent-strong); }
        .actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.75rem; }

        .state {
          display: inline-flex; align-items: center; gap: .6rem; margin-top: 1.25rem; padding: .45rem .95rem .45rem .8rem;
          border-radius: 999px; font-size: .95rem; font-weight: 600; background: var(--calm-ground); color: var(--ink);
        }
        .state::before {
          content: ""; width: .6rem; height: .6rem; flex: none; border-radius: 50%; background: var(--accent);
        }
        .state[data-state="claimed"] { background: var(--busy-ground); }
        .state[data-state="claimed"]::before { background: var(--busy); }
        .state[data-state^="approved"] { background: var(--good-ground); }
        .state[data-state^="approved"]::before { background: var(--good); }
        .state[data-state="denied"], .state[data-state="expired"], .state[data-state="failed"] { background: var(--bad-ground); }
        .state[data-state="denied"]::before, .state[data-state="expired"]::before, .state[data-state="failed"]::before {
          background: var(--bad);
        }
        @media (prefers-reduced-motion: no-preference) {
          .state[data-state="waiting"]::before, .state[data-state="claimed"]::before { animation: breathe 2.4s ease-in-out infinite; }
          @keyframes breathe { 50% { opacity: .3; } }
        }

        .sign-in { max-width: 56rem; }
        .stage { margin-top: 1.75rem; display: grid; gap: 1.75rem; }
        .code { justify-self: center; max-width: 100%; text-align: center; }
        .qr { display: inline-block; max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: 18px; padding: .25rem; }
        .qr svg { max-width: 100%; height: auto; display: block; border-radius: 14px; }
        .renew { margin-top: .3rem; font-size: .9rem; }
        .expires { margin-top: .8rem; color: var(--soft); font-size: .9rem; font-variant-numeric: tabular-nums; }
        .steps { list-style: none; counter-reset: step; display: grid; gap: .9rem; }
        .steps li { counter-increment: step; display: grid; grid-template-columns: 1.75rem 1fr; gap: .85rem; }
        .steps li::before {
          content: counter(step); width: 1.75rem; height: 1.75rem; border-radius: 50%; display: grid; place-items: center;
          font-size: .85rem; font-weight: 650; background: var(--calm-ground); color: var(--ink); font-variant-numeric: tabular-nums;
        }
        .typed { border-top: 1px solid var(--line); padding-top: 1.25rem; }
        .typed code, .secret {
          font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--ink);
        }
        .typed code { display: inline-block; margin-top: .35rem; font-size: 1.3rem; font-weight: 600; letter-spacing: .08em; }
        .number { display: grid; gap: .75rem; }
        .digits code {
          font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--ink);
          font-size: 2.4rem; font-weight: 650; letter-spacing: .18em; font-variant-numeric: tabular-nums;
        }
        .same-device .button {
          min-height: 0; padding: 0; border: 0; background: none; color: var(--accent); text-decoration: underline;
          font-weight: 500; font-size: .9rem; border-radius: 4px;
        }
        @media (pointer: coarse) {
          .same-device .button {
            width: 100%; min-height: 3rem; padding: .65rem 1.35rem; border: 1px solid transparent; font: inherit;
            font-weight: 600; background: var(--accent); color: var(--on-accent); text-decoration: none; border-radius: 12px;
          }
          .same-device .small { display: none; }
        }
        /* A phone cannot scan its own screen. */
        @media (pointer: coarse) and (max-width: 40rem) { .qr, .steps .scan { display: none; } }
        .outcome { display: grid; justify-items: center; text-align: center; gap: 1rem; padding: 1.5rem 0 .5rem; }
        .outcome .lead { margin-top: -.4rem; }
        .emblem { width: 5.5rem; height: 5.5rem; border-radius: 50%; display: grid; place-items: center; background: var(--calm-ground); color: var(--accent); }
        .emblem svg { width: 2.75rem; height: 2.75rem; }
        .emblem.good { background: var(--good-ground); color: var(--good); }
        .emblem.bad { background: var(--bad-ground); color: var(--bad); }
        .emblem.busy { background: var(--busy-ground); color: var(--busy); }
        .confirmed { margin-top: 1.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); display: grid; gap: .75rem; justify-items: start; }

        @media (min-width: 52rem) {
          main { align-items: center; }
          .stage.waiting {
            grid-template-columns: minmax(0, 1fr) auto; grid-template-rows: auto auto 1fr; column-gap: 3.5rem;
            grid-template-areas: "steps code" "typed code" "same code";
          }
          .stage.waiting .steps { grid-area: steps; }
          .stage.waiting .typed { grid-area: typed; }
          .stage.waiting .same-device { grid-area: same; }
          .stage.waiting .code { grid-area: code; margin-top: -7.5rem; }
          .sign-in .intro { padding-inline-end: 23rem; }
          .sign-in.ended .intro { padding-inline-end: 0; }
          .sign-in.ended { max-width: 40rem; }
        }

        .leave { margin-top: 1.75rem; }
        .leave button { min-height: 2.5rem; padding: .3rem .9rem; font-size: .9rem; font-weight: 500; border-color: transparent; margin-inline-start: -.9rem; }
        .ended .leave { text-align: center; }
        .ended .leave button { margin: 0; }
        .outcome .actions { margin-top: .5rem; }
        .ended .intro { text-align: center; }

        .form { max-width: 30rem; }
        .form > .notice { margin-top: 1.25rem; }
        .field { margin-top: 1.25rem; display: grid; gap: .35rem; }
        .field label { font-weight: 600; }
        .field input {
          width: 100%; min-height: 3rem; padding: .6rem .9rem; border: 1px solid var(--edge); border-radius: 12px; font: inherit;
          background: var(--surface); color: var(--ink);
        }
        .field input[readonly] { background: var(--raised); color: var(--soft); }
        .other { margin-top: 1.25rem; }
        .choice { list-style: none; margin: 1.75rem 0 0; padding: 0; display: grid; gap: .75rem; }
        .choice .button { width: 100%; }
        .form > .qr, .form > .typed { margin-top: 1.25rem; }
        .codes { list-style: none; margin: 1.25rem 0; padding: 0; display: grid; gap: .35rem; font-size: 1.1rem; }
        .codes code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }

        .account { max-width: 44rem; }
        .account h2 { margin-top: 2rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
        .account .facts { margin-top: 1rem; }
        .things { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 1.25rem; overflow-wrap: anywhere; }
        .things .notice { margin: .5rem 0; }
        .typed .long code { font-size: .8rem; font-weight: 400; letter-spacing: 0; overflow-wrap: anywhere; }

        .message { max-width: 38rem; text-align: center; }
        .message > .notice { margin-top: 1.5rem; }
        .message > .emblem, .message > .lead { margin-inline: auto; }
        .message > .actions { justify-content: center; }
        .message h1 { margin-top: 1.25rem; }
        .message .paper, .message .notice { text-align: start; }
        .message > .small { margin-top: 1.5rem; }
        .entry { display: grid; gap: .75rem; margin: 1.75rem auto 0; max-width: 20rem; text-align: start; }
        .entry label { font-weight: 600; }
        .entry input {
          width: 100%; min-height: 3rem; padding: .5rem .9rem; border: 1px solid var(--edge); border-radius: 12px;
          background: var(--surface); color: var(--ink); font: 600 1.3rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas,
          "DejaVu Sans Mono", monospace; letter-spacing: .08em; text-transform: uppercase;
        }
        .facts { margin-top: 1.75rem; display: grid; gap: 1rem; }
        .facts dt { color: var(--soft); font-size: .9rem; }
        .facts dd { font-weight: 600; overflow-wrap: anywhere; }
        .facts code {
          font: 600 1.3rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; letter-spacing: .08em;
        }
        .reference { margin-top: 1.75rem; padding-top: 1rem; border-top: 1px solid var(--line); }
        .reference code { font-size: .85rem; overflow-wrap: anywhere; }
        .paper { margin-top: 1.75rem; display: grid; gap: 1.25rem; }
        pre, .secret {
          background: var(--raised); border: 1px solid var(--line); border-radius: 12px; padding: .9rem 1rem; font-size: .875rem;
          line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere; display: block;
        }
        pre code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
        .notice { background: var(--busy-ground); border-radius: 12px; padding: .8rem 1rem; font-size: .95rem; }
        .notice.bad { background: var(--bad-ground); }
        @media (forced-colors: active) { .state::before { border: .3rem solid CanvasText; } .qr { forced-color-adjust: none; } }
        """
}

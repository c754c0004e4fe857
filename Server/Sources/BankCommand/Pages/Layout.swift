/// The frame around every page of a house.
struct Layout {
    let title: String
    let house: House
    /// The name of the person who is signed in, and the token of the form that signs the person out.
    var visitor: (name: String, formToken: String)?

    func page(_ content: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(self.title) · \(self.house.name)</title>
        <link rel="icon" href="/lantern.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/bank.css">
        <script src="/bank.js" defer></script>
        </head>
        <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="top"><div>
        <a class="brand" href="/">\(Self.lantern)\(self.house.name)</a>
        \(self.signOut)
        </div></header>
        <main id="content">
        \(content)
        </main>
        <footer><p>\(self.house.footer)</p></footer>
        </body>
        </html>
        """
    }

    private var signOut: HTML {
        guard let visitor = self.visitor else { return .nothing }
        return """
            <form class="who" method="post" action="/sign-out">
            <input type="hidden" name="form_token" value="\(visitor.formToken)">
            <span>\(visitor.name)</span>
            <button type="submit" data-testid="sign-out">Sign out</button>
            </form>
            """
    }

    /// The bank's sign.
    private static let lantern: HTML = """
        <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false" fill="none" stroke="#f0c56b" stroke-width="1.8" \
        stroke-linecap="round" stroke-linejoin="round"><path d="M12 6a4 4 0 0 1 8 0M9 9.5h14M11 9.5 9 24h14L21 9.5M8 \
        27h16"/><path d="M16 14c2.2 2.4 2.4 5.4 0 6.6-2.4-1.200-2.200-4.200 0-6.600Z" fill="#f0c56b"/></svg>
        """

    /// The bank's sign as a picture of its own, for the browser's tab.
    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#073d2f"/>\
        <g fill="none" stroke="#f0c56b" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">\
        <path d="M12 7a4 4 0 0 1 8 0M9 10.500h14M11 10.500 9 23h14l-2-12.500M8 26h16"/></g></svg>
        """
}

/// The pages that all houses have.
struct HousePages {
    let house: House

    func signedOut() -> HTML {
        Layout(title: "Signed out", house: self.house).page(
            """
            <section class="card outcome">
            <h1 data-testid="signed-out">You are signed out.</h1>
            <p class="lead">Until next time.</p>
            <p><a class="button quiet" href="/">\(self.house.wayBack)</a></p>
            </section>
            """)
    }

    /// The page for a problem. `reference` finds the line in the log that says why.
    func problem(title: String, text: String, reference: LogReference) -> HTML {
        Layout(title: title, house: self.house).page(
            """
            <div class="card outcome refused" data-testid="error">
            <h1>\(title)</h1>
            <p>\(text)</p>
            <p><a class="button quiet" href="/">\(self.house.wayBack)</a></p>
            \(reference.line)
            </div>
            """)
    }
}

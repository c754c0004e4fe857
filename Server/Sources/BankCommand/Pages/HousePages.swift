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

    /// `reference` finds the line in the log that says why.
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

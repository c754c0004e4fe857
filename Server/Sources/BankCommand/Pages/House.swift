/// Which of the example services the program is: what their pages and their requests differ in.
struct House: Sendable {
    /// One word, for the cookie and for who the program says it is.
    let word: String
    let name: String
    /// What is said at the foot of each page.
    let footer: String
    /// What leads home from a page at the end of a way.
    let wayBack: String
    /// Where somebody comes who has signed in.
    let inside: String
    /// What it asks for with a sign-in (OpenID Connect Core 1.0, section 5.4).
    let scope: String

    static let bank = Self(
        word: "bank", name: "Lantern Street Bank",
        footer: "An example service. The accounts and the money are made up.", wayBack: "Back to the bank",
        inside: "/accounts", scope: "openid profile")

    /// A service of personalised identities: what it gets to know of a person is what they confirmed on their phone.
    static let townHall = Self(
        word: "town_hall", name: "Lantern Street Town Hall",
        footer: "An example service. It has no residents but those who try it out.", wayBack: "Back to the town hall",
        inside: "/desk", scope: "openid profile email")
}

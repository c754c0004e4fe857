/// One of the two example services, with the differences between their pages and their requests.
struct House: Sendable {
    /// The word for the service in the cookie's name.
    let word: String
    let name: String
    /// The text at the foot of each page.
    let footer: String
    /// The text of the link home on the last page of a flow.
    let wayBack: String
    /// The path to which a person comes after signing in.
    let inside: String
    /// The scope that the service requests with a sign-in (OpenID Connect Core 1.0, section 5.4).
    let scope: String

    static let bank = Self(
        word: "bank", name: "Lantern Street Bank",
        footer: "An example service. The accounts and the money are made up.", wayBack: "Back to the bank",
        inside: "/accounts", scope: "openid profile")

    /// A service of personalised identities. The service learns only the facts that a person confirmed on the phone.
    static let townHall = Self(
        word: "town_hall", name: "Lantern Street Town Hall",
        footer: "An example service. It has no residents but those who try it out.", wayBack: "Back to the town hall",
        inside: "/desk", scope: "openid profile email")
}

/// A client that the server has recognised by its credential. A public client (an app without a secret) has proved
/// nothing.
public struct AuthenticatedClient: Sendable, Equatable {
    public let id: String
    /// The client's name, as people see it.
    public let name: String
    /// The scheme, host and port of the client's first redirect address, as people see them.
    public let origin: String
    /// `true` if the client may have people's keys deleted.
    public let mayDeregister: Bool
    /// `true` if the client shows the number that a person has to type on the phone.
    public let matchesNumbers: Bool
    /// The client's own scopes, which an operator has given the client.
    public var scopes: [String] = []
    /// `true` if the client's dispatches can have a text for a comparison of page and phone.
    public var linksChannels = false
}

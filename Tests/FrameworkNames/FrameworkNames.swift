// Plays the frameworks that an app imports beside the SDK: types of theirs, by their names. Each tells its own framework, so
// that a test can tell which type a name means.

/// As SwiftUI's property wrapper of that name.
@propertyWrapper
public struct AppStorage<Value: Sendable>: Sendable {
    public var wrappedValue: Value

    public init(wrappedValue: Value, _ key: String) { self.wrappedValue = wrappedValue }
}

/// As WebKit's view of that name.
public struct WebView: Sendable {
    public let framework: String

    public init() { self.framework = "WebKit" }
}

/// As AuthenticationServices' session of that name.
public struct WebAuthenticationSession: Sendable {
    public let framework: String

    public init() { self.framework = "AuthenticationServices" }
}

/// As StoreKit's and SwiftUI's types of that name.
public struct Transaction: Sendable {
    public let framework: String

    public init() { self.framework = "StoreKit" }
}

/// As the configurations of SwiftUI's styles.
public struct Configuration: Sendable {
    public let framework: String

    public init() { self.framework = "SwiftUI" }
}

/// As a framework's type of that name.
public struct Platform: Sendable {
    public let framework: String

    public init() { self.framework = "Platform" }
}

/// As a framework's type of that name.
public struct Role: Sendable {
    public let framework: String

    public init() { self.framework = "Role" }
}

/// As a framework's type of that name.
public struct Account: Sendable {
    public let framework: String

    public init() { self.framework = "Accounts" }
}

public import Countersign

// Names that documentation prints for types of `Countersign`, and that frameworks of an operating system have too. An app
// that is written with these names imports this module beside `Countersign`; others leave it, and keep the names for their own.

/// Where a sign-in keeps what outlasts the app, by its name of before: `SignInStorage`.
public typealias AppStorage = Countersign.SignInStorage

/// A web view that is signed in, by its name of before: `SignInWebView`.
public typealias WebView = Countersign.SignInWebView

/// A sign-in by the web that can be called back, by its name of before: `PreparedWebAuthentication`.
public typealias WebAuthenticationSession = Countersign.PreparedWebAuthentication

/// What a server asks a person to confirm (UAF Protocol 1.1, dictionary Transaction): `UAFTransaction`.
public typealias Transaction = Countersign.UAFTransaction

/// Where the server is, and how long to wait, by its name of before: `ClientConfiguration`.
public typealias Configuration = Countersign.ClientConfiguration

/// What the device underneath can do, by its name of before: `DevicePlatform`.
public typealias Platform = Countersign.DevicePlatform

/// As what a person can come to a service, by the name that the identities' documentation prints: `RequestedRole`.
public typealias Role = Countersign.RequestedRole

/// An account that the device is enrolled for, by the name that the operations' documentation prints: `RegisteredAccount`.
public typealias Account = Countersign.RegisteredAccount

/// What a failed attempt has cost, by the name that the identities' documentation prints for it in Kotlin:
/// `LockoutInformation`.
public typealias LockoutAttemptInformation = Countersign.LockoutInformation

/// A rest that was running already, by its name of before: `LockoutInformation`.
public typealias PendingLockoutInformation = Countersign.LockoutInformation

/// How a PIN stands, by its name of before: `AuthenticatorProtectionStatus`.
public typealias PinAuthenticatorProtectionStatus = Countersign.AuthenticatorProtectionStatus

/// How a password stands, by its name of before: `AuthenticatorProtectionStatus`.
public typealias PasswordAuthenticatorProtectionStatus = Countersign.AuthenticatorProtectionStatus

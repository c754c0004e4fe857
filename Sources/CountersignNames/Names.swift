public import Countersign

// Names that the documentation prints for types of `Countersign`, but that frameworks of an operating system use too.
// An app with these names imports this module beside `Countersign`. Other apps do not import the module, and can use
// the names themselves.

/// The former name of `SignInStorage`: the storage of a sign-in's data that outlast the app.
public typealias AppStorage = Countersign.SignInStorage

/// The former name of `SignInWebView`: a web view with a signed-in session.
public typealias WebView = Countersign.SignInWebView

/// The former name of `PreparedWebAuthentication`: a sign-in on the web that is ready for a call back.
public typealias WebAuthenticationSession = Countersign.PreparedWebAuthentication

/// A server's content for a person to confirm (UAF Protocol 1.1, dictionary Transaction): `UAFTransaction`.
public typealias Transaction = Countersign.UAFTransaction

/// The former name of `ClientConfiguration`: the server's address, and the time limits.
public typealias Configuration = Countersign.ClientConfiguration

/// The former name of `DevicePlatform`: the abilities of the device.
public typealias Platform = Countersign.DevicePlatform

/// A person's possible role at a service, by the name in the identities' documentation: `RequestedRole`.
public typealias Role = Countersign.RequestedRole

/// An account for which the device is enrolled, by the name in the operations' documentation: `RegisteredAccount`.
public typealias Account = Countersign.RegisteredAccount

/// The consequence of a failed attempt, by the Kotlin name in the identities' documentation: `LockoutInformation`.
public typealias LockoutAttemptInformation = Countersign.LockoutInformation

/// The former name of `LockoutInformation`, for a lockout that was already running.
public typealias PendingLockoutInformation = Countersign.LockoutInformation

/// The former name of `AuthenticatorProtectionStatus`, for the state of a PIN.
public typealias PinAuthenticatorProtectionStatus = Countersign.AuthenticatorProtectionStatus

/// The former name of `AuthenticatorProtectionStatus`, for the state of a password.
public typealias PasswordAuthenticatorProtectionStatus = Countersign.AuthenticatorProtectionStatus

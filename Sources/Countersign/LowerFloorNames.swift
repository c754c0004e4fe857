public import Ceremony
public import PersonalInformation
public import UAF
public import UAFClient
public import _Primitives

// Each lower floor re-exports one declaration to every file that imports this module. With `MemberImportVisibility` an
// app sees the members of types by the modules that the app imports. The re-export lets the app see the members of the
// types below without importing their modules. Other names of the lower floors stay hidden from apps.
@_exported public import struct Ceremony.OutOfBandPayload
@_exported public import enum PersonalInformation.PersonalAttribute
@_exported public import enum UAF.AuthenticatorType
@_exported public import struct UAFClient.SystemPrompt
@_exported public import struct _Primitives.Timestamp

// Types of the lower floors that an app meets, under the names that the app uses: an app imports this module and no
// other module. Each name therefore stands in two modules, and is one type in both.

/// The content of a QR code or a link for a phone: a token, and the address at which to redeem the token.
/// ``OutOfBandPayloadDecode`` creates payloads.
///
/// `redeemData` holds the token, a secret, and the address; `json`, `base64URLEncoded` and `link(base:)` write the
/// payload.
public typealias OutOfBandPayload = Ceremony.OutOfBandPayload

/// The reason why a payload could not be read, in its `code`: `malformedPayload`, `unsupportedVersion`,
/// `decryptionError` (the payload was meant for another device) or `operationReused`.
public typealias OutOfBandPayloadError = Ceremony.OutOfBandPayloadError

/// A rule that refuses PINs which are easy to guess, for the ``PinPolicy`` of a screen: `differentDigits`, `repeats`,
/// `runs`, `pattern`, `row`, `date` and `blockList`. `PinRule.simple` has the rules for the PINs of personalised
/// identities.
public typealias PinRule = Ceremony.PinRule

/// The content of a person's denial: a reason (`unwanted`, `wrongContent`), and `isNotMe` if another party began the
/// request. `.unwanted`, `.wrongContent` and `.notMe` are ready statements.
public typealias DenialStatement = Ceremony.DenialStatement

/// The content that a server asks a person to confirm: a content type, the bytes, and for a picture the picture's kind
/// (UAF Protocol 1.1, dictionary Transaction).
///
/// A screen gets the bytes as ``TransactionConfirmationContext/transactionConfirmationData``.
public typealias UAFTransaction = UAF.Transaction

/// The kind of a transaction's content (UAF Protocol 1.1, dictionary Transaction).
public typealias TransactionContentType = UAF.Transaction.ContentType

/// A kind of PNG pictures, described by the pictures' own file headers (UAF, DisplayPNGCharacteristicsDescriptor).
public typealias PictureDisplay = UAF.DisplayPNGCharacteristics

/// The capabilities of the device, for ``MobileAuthenticationClientInitializer/platform(_:)``.
///
/// `DevicePlatform(storage:clock:)` is the minimum. `keys`, `fingerprintSensor`, `faceSensor`, `devicePasscode` and
/// `appAttestor` are set if the device has them.
public typealias DevicePlatform = UAFClient.DevicePlatform

/// The storage of keys, counters and tries: `read`, `write` and `remove` access named values. A written value survives
/// a power cut.
public typealias SecureStorage = UAFClient.SecureStorage

/// Keys that the device makes, keeps and signs with: the keys of a chip, used in place of the keys in the storage.
public typealias DeviceKeys = UAFClient.DeviceKeys

/// The reason why a storage failed, in its `code`: `unavailable`, `corrupt`, `newer`, `inUse`, `locked` or
/// `unsupported`.
public typealias StorageError = UAFClient.StorageError

/// The device's clocks: the time of day, which a person can set, and the time since the device started, which no person
/// can set.
public typealias DeviceClock = UAFClient.DeviceClock

/// A moment in milliseconds since 1970, UTC, as ``DeviceClock`` reports it: `Timestamp(milliseconds:)`.
public typealias Timestamp = _Primitives.Timestamp

/// A sensor for fingers or faces, with the operating system's matcher.
public typealias BiometricSensor = UAFClient.BiometricSensor

/// The result of one reading of a finger or face: `match`, `noMatch` with the sensor's advice, `cancelled` or
/// `lockedOut`.
public typealias BiometricReading = UAFClient.BiometricReading

/// The reason why a sensor, or the operating system, gave no result: `timedOut` or `disconnected`.
public typealias SensorError = UAFClient.SensorError

/// The operating system's result for the device's passcode: `match`, `cancelled` or `lockedOut`.
public typealias DevicePasscodeReading = UAFClient.DevicePasscodeReading

/// The device's own passcode, which the operating system requests and checks.
public typealias DevicePasscode = UAFClient.DevicePasscode

/// The service of the operating system that proves which app runs on the device: `attestation` and `assertion`.
public typealias AppAttestor = UAFClient.AppAttestor

/// The statement of the operating system's maker about a key of the app: `keyID` and `object`.
public typealias AppAttestation = UAFClient.AppAttestation

/// The reason why an ``AppAttestor`` gave no evidence: `unsupported`, `unavailable` or `keyGone`.
public typealias AppAttestorError = UAFClient.AppAttestorError

/// The cost of one PIN guess for an attacker with the device's storage, for
/// ``MobileAuthenticationClientInitializer/pinHardening(_:)``.
public typealias PinHardening = UAFClient.PinHardening

/// The app's texts in a dialog of the operating system: `reason`, `fallbackTitle` and `cancelTitle`. For a text that is
/// `nil`, the operating system uses its own text.
public typealias SystemPrompt = UAFClient.SystemPrompt

/// The status of a PIN or a password, for a screen to show: `unlocked`, `lastAttemptFailed` with the remaining tries
/// and the seconds to wait, or `lockedOut`.
public typealias AuthenticatorProtectionStatus = UAFClient.AuthenticatorProtectionStatus

/// The recorder to which the client writes its events, for ``MobileAuthenticationClientInitializer/traceRecorder(_:)``.
public typealias TraceRecorder = Ceremony.TraceRecorder

/// Bytes that must not be shown, for ``BiometricKeys``: `SecretBytes(bytes)` takes the bytes, and `withBytes` lends
/// them.
public typealias SecretBytes = _Primitives.SecretBytes

// MARK: Identities

/// The purpose of an authentication, for the sentence to which a person agrees: `userLogin` (a browser or another app),
/// `serviceLogin` (this app), `addFactor`, `changePin`, `newActivation`, `delete` and `merge`.
public typealias AuthenticationPurpose = SessionDocument.Purpose

/// The authenticator types that roles require: `device`, `pin`, `biometric`, and two reserved types.
public typealias AuthenticatorType = UAF.AuthenticatorType

/// The attributes that a service requests from a person: a property for each attribute, `nil` if the service does not
/// request the attribute.
public typealias AuthenticationPersonalInformation = PersonalInformation.AuthenticationPersonalInformation

/// One attribute that a service requests: the content for the screen, and the place for the person's answer.
public typealias AuthenticationInformation = PersonalInformation.AuthenticationInformation

/// The error of an attribute's value, from the server's last reply.
public typealias AuthenticationInformationErrorCode = PersonalInformation.AuthenticationInformationErrorCode

/// The attributes that a service can request from a person, named like the properties of
/// ``AuthenticationPersonalInformation``.
public typealias PersonalAttribute = PersonalInformation.PersonalAttribute

/// The alias of an account's value: a word that the value's owner chose, in place of the value.
public typealias PersonalInformationAlias = PersonalInformation.PersonalInformationAlias

/// A validator of the text that a person types for an attribute.
public typealias PersonalInformationValidator = PersonalInformation.PersonalInformationValidator

/// A validator of names, with the bounds `minLength` and `maxLength`.
public typealias NameValidator = PersonalInformation.NameValidator

/// A validator of user names.
public typealias UsernameValidator = PersonalInformation.UsernameValidator

/// A validator of salutations.
public typealias SalutationValidator = PersonalInformation.SalutationValidator

/// A validator of dates of birth.
public typealias BirthdateValidator = PersonalInformation.BirthdateValidator

/// A day of the calendar, without a time and without a zone.
public typealias CalendarDay = PersonalInformation.CalendarDay

/// A person's postal address.
public typealias Address = PersonalInformation.Address

/// A validator of addresses.
public typealias AddressValidator = PersonalInformation.AddressValidator

/// A validator of nationalities: countries, in two letters.
public typealias NationalityValidator = PersonalInformation.NationalityValidator

/// The gender in a person's papers.
public typealias Gender = PersonalInformation.Gender

/// A validator of genders.
public typealias GenderValidator = PersonalInformation.GenderValidator

/// A validator of e-mail addresses.
public typealias EmailValidator = PersonalInformation.EmailValidator

/// A validator of telephone numbers.
public typealias PhoneNumberValidator = PersonalInformation.PhoneNumberValidator

public import Ceremony
public import PersonalInformation
public import UAF
public import UAFClient
public import _Primitives

// One declaration of each floor below goes on to whoever imports this module. With `MemberImportVisibility` an app sees the
// members of types by the modules that it imports, and this lets it see those of the types below without their modules. Other
// names of the floors below stay out of apps.
@_exported public import struct Ceremony.OutOfBandPayload
@_exported public import enum PersonalInformation.PersonalAttribute
@_exported public import enum UAF.AuthenticatorType
@_exported public import struct UAFClient.SystemPrompt
@_exported public import struct _Primitives.Timestamp

// Types of the floors below that an app meets, under the names that it meets them by: an app imports this module and no
// other. Each stands in two modules therefore, and is one type in both.

/// What a QR code or a link tells a phone: a token, and where to redeem it. Made by ``OutOfBandPayloadDecode``.
///
/// `redeemData` holds the token, a secret, and the address; `json`, `base64URLEncoded` and `link(base:)` write it.
public typealias OutOfBandPayload = Ceremony.OutOfBandPayload

/// Why a payload could not be read: `malformedPayload`, `unsupportedVersion`, `decryptionError` (it was meant for another
/// device) or `operationReused`, in its `code`.
public typealias OutOfBandPayloadError = Ceremony.OutOfBandPayloadError

/// What a server asks a person to confirm: a content type, the bytes, and for a picture its kind (UAF Protocol 1.1,
/// dictionary Transaction).
///
/// A screen gets its bytes as ``TransactionConfirmationContext/transactionConfirmationData``.
public typealias UAFTransaction = UAF.Transaction

/// What the content of a transaction is (UAF Protocol 1.1, dictionary Transaction).
public typealias TransactionContentType = UAF.Transaction.ContentType

/// A kind of PNG pictures, by what their files say of themselves (UAF, DisplayPNGCharacteristicsDescriptor).
public typealias PictureDisplay = UAF.DisplayPNGCharacteristics

/// What the device underneath can do, for ``MobileAuthenticationClientInitializer/platform(_:)``.
///
/// `DevicePlatform(storage:clock:)` is the least; `keys`, `fingerprintSensor`, `faceSensor` and `devicePasscode` are there where
/// the device has them.
public typealias DevicePlatform = UAFClient.DevicePlatform

/// Where keys, counters and tries are kept: `read`, `write` and `remove` named values, each of which survives a power cut
/// once it is written.
public typealias SecureStorage = UAFClient.SecureStorage

/// Keys that the device makes, keeps and signs with: a chip's, in the place of those in the storage.
public typealias DeviceKeys = UAFClient.DeviceKeys

/// Why a storage did not do its work: `unavailable`, `corrupt`, `newer` or `inUse`, in its `code`.
public typealias StorageError = UAFClient.StorageError

/// The device's clocks: the time of day, which a person can set, and the time since the device started, which nobody can.
public typealias DeviceClock = UAFClient.DeviceClock

/// A moment in milliseconds since 1970, UTC, as ``DeviceClock`` tells it: `Timestamp(milliseconds:)`.
public typealias Timestamp = _Primitives.Timestamp

/// A sensor for fingers or faces and the operating system's matcher behind it.
public typealias BiometricSensor = UAFClient.BiometricSensor

/// What came of one finger or face: `match`, `noMatch` with the sensor's advice, `cancelled` or `lockedOut`.
public typealias BiometricReading = UAFClient.BiometricReading

/// Why a sensor, or the operating system, said nothing: `timedOut` or `disconnected`.
public typealias SensorError = UAFClient.SensorError

/// What the operating system says of the device's passcode: `match`, `cancelled` or `lockedOut`.
public typealias DevicePasscodeReading = UAFClient.DevicePasscodeReading

/// The device's own passcode, which the operating system asks for and judges.
public typealias DevicePasscode = UAFClient.DevicePasscode

/// What one try of a PIN costs whoever has the device's storage, for
/// ``MobileAuthenticationClientInitializer/pinHardening(_:)``.
public typealias PinHardening = UAFClient.PinHardening

/// The app's texts in a dialog of the operating system: `reason`, `fallbackTitle` and `cancelTitle`. What is `nil` is the
/// operating system's own.
public typealias SystemPrompt = UAFClient.SystemPrompt

/// How a PIN or a password stands, for a screen to show: `unlocked`, `lastAttemptFailed` with the tries that are left and
/// the seconds to wait, or `lockedOut`.
public typealias AuthenticatorProtectionStatus = UAFClient.AuthenticatorProtectionStatus

/// Where the client writes down what it does, for ``MobileAuthenticationClientInitializer/traceRecorder(_:)``.
public typealias TraceRecorder = Ceremony.TraceRecorder

/// Bytes that must not be shown, for ``BiometricKeys``: `SecretBytes(bytes)` takes them, `withBytes` lends them.
public typealias SecretBytes = _Primitives.SecretBytes

// MARK: Identities

/// What an authentication is for, for the sentence that a person agrees to: `userLogin` (a browser elsewhere),
/// `serviceLogin` (this app), `addFactor`, `changePin`, `newActivation`, `delete` and `merge`.
public typealias AuthenticationPurpose = SessionDocument.Purpose

/// What roles ask for: `device`, `pin`, `biometric`, and two that are reserved.
public typealias AuthenticatorType = UAF.AuthenticatorType

/// What a service asks of a person: a property for each of the twelve attributes, `nil` where it does not ask.
public typealias AuthenticationPersonalInformation = PersonalInformation.AuthenticationPersonalInformation

/// One attribute that a service asks for: what a screen shows of it, and where the person's answer goes.
public typealias AuthenticationInformation = PersonalInformation.AuthenticationInformation

/// What is wrong with an attribute, by the server's last word.
public typealias AuthenticationInformationErrorCode = PersonalInformation.AuthenticationInformationErrorCode

/// What a service can ask of a person: the twelve attributes, by the names of the properties of
/// ``AuthenticationPersonalInformation``.
public typealias PersonalAttribute = PersonalInformation.PersonalAttribute

/// A value that an account has, without the value: a word that its owner gave it.
public typealias PersonalInformationAlias = PersonalInformation.PersonalInformationAlias

/// Judges what a person types for an attribute.
public typealias PersonalInformationValidator = PersonalInformation.PersonalInformationValidator

/// Judges names: `minLength` and `maxLength` are its bounds.
public typealias NameValidator = PersonalInformation.NameValidator

/// Judges user names.
public typealias UsernameValidator = PersonalInformation.UsernameValidator

/// Judges salutations.
public typealias SalutationValidator = PersonalInformation.SalutationValidator

/// Judges birthdays.
public typealias BirthdateValidator = PersonalInformation.BirthdateValidator

/// A day of the calendar, without a time and without a zone.
public typealias CalendarDay = PersonalInformation.CalendarDay

/// Where a person lives.
public typealias Address = PersonalInformation.Address

/// Judges addresses.
public typealias AddressValidator = PersonalInformation.AddressValidator

/// Judges nationalities: countries, in two letters.
public typealias NationalityValidator = PersonalInformation.NationalityValidator

/// What a person's papers say of their gender.
public typealias Gender = PersonalInformation.Gender

/// Judges genders.
public typealias GenderValidator = PersonalInformation.GenderValidator

/// Judges e-mail addresses.
public typealias EmailValidator = PersonalInformation.EmailValidator

/// Judges telephone numbers.
public typealias PhoneNumberValidator = PersonalInformation.PhoneNumberValidator

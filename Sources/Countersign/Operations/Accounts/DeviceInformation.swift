/// The data about this device that the accounts' servers know the device by. All accounts of the device share the data.
///
/// The first registration creates the data, and the last account takes them along. An app creates a value for a
/// registration. ``LocalData/deviceInformation`` has the present value.
public struct DeviceInformation: Hashable, Sendable {
    /// A name by which the person knows the device: 1 to 100 characters, not only white space, and at most 30 combining
    /// marks in a row. Two devices of one person have different names. At its registration the servers replace a
    /// character that cannot be shown, such as a line break, by U+FFFD; a change to such a name is refused.
    ///
    /// A registration or a change with an invalid name ends with ``OperationError/Code/missingInteraction``, and with
    /// the reason.
    public let name: String
    /// The address at which a push service reaches the app on this device; `nil` without a push service.
    public let pushAddress: PushAddress?
    /// `true` if the servers may push to the device. `true` unless ``DeviceInformationChange`` has turned push off.
    public let isPushEnabled: Bool
    /// A random identifier of this device, for the app alone: no server receives the identifier. The identifier is kept
    /// with the keys, and ends with the last account. `nil` in a value that the app has made.
    public let deviceID: String?
    /// The identifiers by which the accounts' servers know this device, in the order of ``LocalData/accounts``. An
    /// account is missing until its server has created the dispatch target.
    public let accountIdentifiers: [AccountIdentifier]

    /// The identifier by which an account's server knows this device as a target of dispatches.
    public struct AccountIdentifier: Hashable, Sendable {
        /// The server's identifier of the device.
        public let identifier: String
        /// The account.
        public let account: RegisteredAccount

        /// Creates an identifier. Public also for an app's own tests.
        public init(identifier: String, account: RegisteredAccount) {
            self.identifier = identifier
            self.account = account
        }
    }

    /// Creates the information for a registration.
    public init(name: String, pushAddress: PushAddress? = nil) {
        self.init(name: name, pushAddress: pushAddress, isPushEnabled: true, deviceID: nil, accountIdentifiers: [])
    }

    /// Creates the information for a registration, with the app's token of Firebase Cloud Messaging.
    public init(name: String, fcmRegistrationToken: String) {
        self.init(name: name, pushAddress: .firebaseCloudMessaging(registrationToken: fcmRegistrationToken))
    }

    /// Creates all of the information. Public also for an app's own tests.
    public init(
        name: String, pushAddress: PushAddress?, isPushEnabled: Bool, deviceID: String?,
        accountIdentifiers: [AccountIdentifier]
    ) {
        self.name = name
        self.pushAddress = pushAddress
        self.isPushEnabled = isPushEnabled
        self.deviceID = deviceID
        self.accountIdentifiers = accountIdentifiers
    }

    /// The reason why a server would refuse the information; `nil` if the information is valid.
    var flaw: String? { StoredDevice.flaw(ofName: self.name) ?? self.pushAddress?.flaw }
}

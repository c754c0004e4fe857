// swift-format-ignore-file
// The Swift listings of the documentation that the identities' API comes from, to the letter but for the facade's name, and
// without their comments. What they leave to an app is in YourImplementation.swift.
import Countersign
import CountersignNames
import Foundation

struct SeedListing {
internal func startAuthentication(
authenticationInitializationData: AuthenticationInitializationData
) throws {
let authenticator: Authenticator = CountersignSDK.shared.authenticator
let request: AuthenticateRequest = try authenticator.startAuthenticationSynchronous(
data: authenticationInitializationData
)
let roles: Array<Role> = request.roles
if roles.count > 1 {
let authenticators: Array<Array<AuthenticatorType>>? = roles.first?.requestedAuthenticators
let selectedRole: Role = YourImplementation.displayRoleSelection(roles)
if request.setSelection(selectedRole) == nil {
}
}
try confirmAuthenticationAttributes(request: request)
}

// Another form of the same, of which the documentation says that it begins with what an invitation came to.
internal func startAuthentication(
authenticationInitializationData: AuthenticationInitializationDataWithSession
) throws {
try confirmAuthenticationAttributes(
request: try CountersignSDK.shared.authenticator.startAuthenticationSynchronous(
data: authenticationInitializationData
)
)
}

private func confirmAuthenticationAttributes(
request: AuthenticateRequest
) throws {
let info: AuthenticationPersonalInformation = request.info
if let infoGivenName: AuthenticationInformation<String, NameValidator> = info.givenName {
if infoGivenName.isRequired {
if infoGivenName.isDataMissing {
var isInputValid: Bool = false
var errorText: String? = nil
while !isInputValid {
let suppliedGivenName: String = YourImplementation.askTheUserForData(
minLength: infoGivenName.validator.minLength,
maxLength: infoGivenName.validator.maxLength,
errorText: errorText
)
let validationResult: NameValidator.ResultCode = infoGivenName
.setValue(value: suppliedGivenName)
switch validationResult {
case .valid:
isInputValid = true
case .empty:
errorText = "The input must not be empty."
case .tooShort:
errorText = """
The input must be at least \
\(infoGivenName.validator.minLength) characters long.
"""
case .tooLong:
errorText = """
The input can't be longer than \
\(infoGivenName.validator.maxLength) characters.
"""
}
}
}
else if infoGivenName.aliases.count > 1 {
let alias: PersonalInformationAlias = YourImplementation
.displayAliasSelection(infoGivenName.aliases)
if infoGivenName.setSelection(alias) == nil {
}
} else {
}
} else {
}
}
info.username; info.nickname; info.familyName; info.birthdate; info.address; info.nationality
info.placeOfBirth; info.gender; info.salutation; info.email; info.phoneNumber
let result: PrepareAuthenticationUserInformationResult =
try CountersignSDK.shared.authenticator.prepareAuthenticationUserInformationSynchronous(
request: request
)
let userInformation: AuthenticationUserInformation
switch result {
case .failure(let returnedAuthenticateRequest):
let infoGivenNameOpt: AuthenticationInformation<String, NameValidator>? =
returnedAuthenticateRequest.info.givenName
if let infoGivenName = infoGivenNameOpt {
let error: AuthenticationInformationErrorCode = infoGivenName.error
switch error {
case .none:
break
case .invalid:
break
case .notAvailable:
break
case .dataMissing:
break
case .noAliasSelected:
break
}
}
try confirmAuthenticationAttributes(request: returnedAuthenticateRequest)
return
case .success(let infos):
userInformation = infos
}
try signAuthentication(userInformation: userInformation)
}

private func signAuthentication(userInformation: AuthenticationUserInformation) throws {
let requestedAuthenticators: Array<Array<AuthenticatorType>> =
userInformation.requestedAuthenticators
let authenticators: Array<AuthenticatorType> = requestedAuthenticators.first!
for authenticator in authenticators {
let factor: AuthenticationFactor
switch authenticator {
case .device:
factor = DeviceFactor()
case .pin:
let pin: String = YourImplementation.askUserForPin()
factor = PinFactor(pin)
case .biometric:
let biometricFactor: BiometricFactor = try YourImplementation.getBiometricFactor()
factor = biometricFactor
case .otp, .yubikey:
throw YourError.yourErrorCase
}
try userInformation.sign(factor: factor)
}
try finishAuthentication(userInformation: userInformation)
}

private func finishAuthentication(userInformation: AuthenticationUserInformation) throws {
let authenticator = CountersignSDK.shared.authenticator
let result: AuthenticationResult = try authenticator.finishAuthenticationSynchronous(
userInfo: userInformation
)
switch result {
case .userLogin(let userLoginResult):
return
case .serviceLogin(let serviceLoginResult):
return
case .apiAccessAddFactor(let apiAccessAddFactor):
return
case .apiAccessChangePin(let apiAccessChangePin):
return
case .apiAccessMergeComplete(idmIdentifier: let idmIdentifier):
return
case .apiAccessRequestNewActivationData(let apiAccessRequestNewActivationData):
return
case .apiAccessDelete(let apiAccessDelete):
return
case .lockout(
lockoutInformation: let lockoutInformation,
authenticationUserInformation: let authenticationUserInformation
):
if lockoutInformation.isPermanent {
throw YourError.yourErrorCase
}
let lockedUntil: Date = lockoutInformation.lockedUntil
try signAuthentication(userInformation: authenticationUserInformation)
return
}
}
}

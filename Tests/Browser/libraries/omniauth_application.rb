# A web application with omniauth_openid_connect, which stands on the openid_connect of Ruby.

require 'json'
require 'omniauth_openid_connect'
require 'rack'
require 'rack/handler/webrick'

port = Integer(ENV.fetch('PORT'))
# The library takes no plain http unless it is told that this is a trial.
SWD.url_builder = URI::HTTP
# It begins by a form of the application's; here an address does.
OmniAuth.config.allowed_request_methods = [:get]
OmniAuth.config.silence_get_warning = true

application = Rack::Builder.new do
  use Rack::Session::Cookie, secret: 'a key of this application, which is as long as rack wants one to be, and longer'
  use OmniAuth::Builder do
    provider :openid_connect, {
      issuer: ENV.fetch('ISSUER'),
      discovery: true,
      scope: %i[openid email profile],
      client_options: {
        identifier: ENV.fetch('CLIENT_ID'),
        secret: ENV.fetch('CLIENT_SECRET'),
        redirect_uri: "http://127.0.0.1:#{port}/auth/openid_connect/callback"
      }
    }
  end
  run(lambda do |environment|
    person = environment['omniauth.auth']
    next [302, { 'Location' => '/auth/openid_connect' }, []] unless person

    told = { sub: person.uid, email: person.info.email }
    [200, { 'Content-Type' => 'application/json' }, [JSON.generate(told)]]
  end)
end

Rack::Handler::WEBrick.run(application, Host: '127.0.0.1', Port: port)

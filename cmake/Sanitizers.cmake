# BB_SANITIZE=address,undefined or BB_SANITIZE=thread applies to everything that is built.
if(BB_SANITIZE)
  add_compile_options(-fsanitize=${BB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g)
  add_link_options(-fsanitize=${BB_SANITIZE})
endif()
